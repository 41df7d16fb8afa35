---- plan
π transform(words, (texts) -> upper(texts)) AS upper_words, client.full name AS full_name, words[0] AS first_word
  texts [words, client]
---- spark
SELECT
  TRANSFORM(texts_2.words, texts -> UPPER(texts)) AS upper_words,
  texts_2.client.`full name` AS full_name,
  texts_2.words[0] AS first_word
FROM texts AS texts_2
---- postgres
transform(words, (texts) -> upper(texts)) cannot run outside Spark: transform is not on the list of functions that mean the same there
