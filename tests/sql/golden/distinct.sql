---- plan
δ
  π country
    client [client_id, name, country, income]
---- spark
SELECT DISTINCT
  client.country
FROM client
---- postgres
SELECT DISTINCT
  client.country
FROM client
