---- plan
σ (score > 0.5)
  segment 2 [score, label]
---- spark
SELECT
  m_18.score,
  m_18.label
FROM (
  SELECT
    ((numbers)[3]) AS score,
    c1 AS label
  FROM m_18
) AS m_18
WHERE
  m_18.score > 0.5D
---- postgres
SELECT
  m_18.score,
  m_18.label
FROM (
  SELECT
    ((numbers)[3]) AS score,
    c1 AS label
  FROM m_18
) AS m_18
WHERE
  m_18.score > 0.5
