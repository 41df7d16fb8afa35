---- plan
σ (country = 'US')
  π client_id, country, rand(7) AS r
    client [client_id, name, country, income]
---- spark
SELECT
  q.client_id,
  q.country,
  q.r
FROM (
  SELECT
    client.client_id,
    client.country,
    RAND(7) AS r
  FROM client
) AS q
WHERE
  q.country = 'US'
---- postgres
rand(7) cannot run outside Spark: rand is not on the list of functions that mean the same there
