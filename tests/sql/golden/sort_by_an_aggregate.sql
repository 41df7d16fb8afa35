---- plan
sort n DESC
  α country; count(1) AS n
    client [client_id, name, country, income]
---- spark
SELECT
  client.country,
  COUNT(*) AS n
FROM client
GROUP BY
  client.country
ORDER BY
  n DESC NULLS FIRST
---- postgres
SELECT
  client.country,
  COUNT(*) AS n
FROM client
GROUP BY
  client.country
ORDER BY
  n DESC NULLS FIRST
