"""Click predictors over stream summaries: stumps, rules, univariate and random trees."""
