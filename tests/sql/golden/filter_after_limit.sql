---- plan
σ (country = 'US')
  limit 10
    client [client_id, name, country, income]
---- spark
SELECT
  q.client_id,
  q.name,
  q.country,
  q.income
FROM (
  SELECT
    client.client_id,
    client.name,
    client.country,
    client.income
  FROM client
  LIMIT 10
) AS q
WHERE
  q.country = 'US'
---- postgres
SELECT
  q.client_id,
  q.name,
  q.country,
  q.income
FROM (
  SELECT
    client.client_id,
    client.name,
    client.country,
    client.income
  FROM client
  LIMIT 10
) AS q
WHERE
  q.country = 'US'
