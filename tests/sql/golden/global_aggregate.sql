---- plan
α (); count(1) AS n
  σ (country = 'US')
    client [client_id, name, country, income]
---- spark
SELECT
  COUNT(*) AS n
FROM client
WHERE
  client.country = 'US'
---- postgres
SELECT
  COUNT(*) AS n
FROM client
WHERE
  client.country = 'US'
