---- plan
limit 3 offset 1
  sort income DESC, name ASC
    client [client_id, name, country, income]
---- spark
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income
FROM client
ORDER BY
  client.income DESC NULLS LAST,
  client.name ASC NULLS FIRST
LIMIT 3
OFFSET 1
---- postgres
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income
FROM client
ORDER BY
  client.income DESC NULLS LAST,
  (client.name COLLATE "C") ASC NULLS FIRST
LIMIT 3
OFFSET 1
