---- plan
α (); count(1) AS n
  δ
    π country
      client [client_id, name, country, income]
---- spark
SELECT
  COUNT(*) AS n
FROM (
  SELECT DISTINCT
    client.country
  FROM client
) AS q
---- postgres
SELECT
  COUNT(*) AS n
FROM (
  SELECT DISTINCT
    client.country
  FROM client
) AS q
