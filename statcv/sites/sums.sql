WITH RECURSIVE
given AS (
  SELECT CAST({fold} AS INTEGER) AS fold, CAST({outcome} AS INTEGER) AS y, {predicted} AS p
  FROM {source}
),
used AS (
  SELECT fold, y, p, CASE WHEN y = 1 THEN p ELSE 1 - p END AS chance
  FROM given WHERE fold IS NOT NULL AND y IN (0, 1) AND p >= 0 AND p <= 1
),
small AS (SELECT fold FROM used GROUP BY fold HAVING SUM(CASE WHEN y = 1 THEN 1 ELSE 0 END) < {cell} OR SUM(CASE WHEN y = 0 THEN 1 ELSE 0 END) < {cell}),
scored AS MATERIALIZED (
  SELECT fold, y, p,
    -LN(CASE WHEN chance < {least} THEN {least} ELSE chance END) AS loss,
    {bin_of} AS bin
  FROM used WHERE fold NOT IN (SELECT fold FROM small)
),
bins(bin) AS (SELECT 0 UNION ALL SELECT bin + 1 FROM bins WHERE bin < {last}),
counted AS (SELECT fold, y, bin, COUNT(*) AS n FROM scored GROUP BY fold, y, bin),
classes AS (SELECT DISTINCT fold, y FROM scored),
cells AS MATERIALIZED (
  SELECT g.fold AS fold, g.y AS y, b.bin AS bin,
    CAST(SUM(COALESCE(c.n, 0)) OVER (
      PARTITION BY g.fold, g.y ORDER BY b.bin) AS INTEGER) AS upto,
    CAST(SUM(COALESCE(c.n, 0)) OVER (PARTITION BY g.fold, g.y) AS INTEGER) AS total
  FROM classes g CROSS JOIN bins b
  LEFT JOIN counted c ON c.fold = g.fold AND c.y = g.y AND c.bin = b.bin
),
coarse(fold, y, bin, upto, begun, cut) AS (
  SELECT fold, y, -1, 0, 0, 0 FROM classes
  UNION ALL
  SELECT c.fold, c.y, c.bin, c.upto,
    CASE WHEN {coarse} THEN c.upto ELSE w.begun END,
    CASE WHEN {coarse} THEN 1 ELSE 0 END
  FROM coarse w JOIN cells c ON c.fold = w.fold AND c.y = w.y AND c.bin = w.bin + 1
),
sections AS MATERIALIZED (
  SELECT fold, y, bin, upto, cut AS kept,
    MIN(CASE WHEN cut = 1 OR bin = {last} THEN upto END) OVER (
      PARTITION BY fold, y ORDER BY bin
      ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS section_end
  FROM coarse WHERE bin >= 0
),
fine(fold, y, bin, upto, begun, cut) AS (
  SELECT fold, y, -1, 0, 0, 0 FROM classes
  UNION ALL
  SELECT c.fold, c.y, c.bin, c.upto,
    CASE WHEN {fine} THEN c.upto ELSE w.begun END,
    CASE WHEN {fine} THEN 1 ELSE 0 END
  FROM fine w JOIN sections c ON c.fold = w.fold AND c.y = w.y AND c.bin = w.bin + 1
)
SELECT 'agreed' AS what, NULL AS fold, NULL AS class, NULL AS last_bin,
  CAST({number} AS DOUBLE PRECISION) AS value
UNION ALL SELECT 'count', fold, y, bin,
  upto - LAG(upto, 1, 0) OVER (PARTITION BY fold, y ORDER BY bin)
FROM fine WHERE cut = 1 AND bin >= 0
UNION ALL SELECT 'n', fold, NULL, NULL, COUNT(*) FROM scored GROUP BY fold
UNION ALL SELECT 'observed', fold, NULL, NULL, SUM(y) FROM scored GROUP BY fold
UNION ALL SELECT 'predicted', fold, NULL, NULL, SUM(p) FROM scored GROUP BY fold
UNION ALL SELECT 'brier', fold, NULL, NULL, SUM((y - p) * (y - p)) FROM scored GROUP BY fold
UNION ALL SELECT 'log_loss', fold, NULL, NULL, SUM(loss) FROM scored GROUP BY fold
UNION ALL SELECT 'predicted_squared', NULL, NULL, NULL, SUM(p * p) FROM scored
UNION ALL SELECT 'brier_squared', NULL, NULL, NULL, SUM((y - p) * (y - p) * (y - p) * (y - p)) FROM scored
UNION ALL SELECT 'log_loss_squared', NULL, NULL, NULL, SUM(loss * loss) FROM scored
UNION ALL SELECT 'withheld', fold, NULL, NULL, NULL FROM small
UNION ALL SELECT 'left_out', NULL, NULL, NULL,
  CASE WHEN lost = 0 OR lost >= {cell} THEN lost END
FROM (SELECT (SELECT COUNT(*) FROM given) - (SELECT COUNT(*) FROM used) AS lost) AS x
ORDER BY 1, 2, 3, 4
