# Writes nwtco.csv, from the folder of the repository: Rscript data/make_nwtco.R
data(nwtco, package = "survival")
with(nwtco, write.csv(data.frame(
  relapse = rel, age = round(age / 12, 4), stage = c("I", "II", "III", "IV")[stage],
  histology = c("favourable", "unfavourable")[histol], study = study
), "data/nwtco.csv", row.names = FALSE, quote = FALSE))
