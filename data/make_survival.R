# Writes veteran.csv and gbsg.csv, from the folder of the repository:
# Rscript data/make_survival.R
data(cancer, package = "survival")
kept <- function(frame, name) {
  write.csv(frame, paste0("data/", name, ".csv"), row.names = FALSE, quote = FALSE)
}
kept(with(veteran, data.frame(
  time, status, treatment = c("standard", "test")[trt], celltype, karno, diagtime, age,
  prior = c("no", "yes")[1 + (prior > 0)]
)), "veteran")
kept(with(gbsg, data.frame(
  time = rfstime, status, age, menopause = c("no", "yes")[1 + meno], size,
  grade = c("I", "II", "III")[grade], nodes, pgr, er,
  hormone = c("no", "yes")[1 + hormon]
)), "gbsg")
