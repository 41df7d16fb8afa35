---- plan
∪
  π client_id, income
    σ (country = 'US')
      client [client_id, name, country, income]
  π client_id_2, debt
    debt [client_id_2, debt, date]
---- spark
SELECT
  client.client_id AS id,
  client.income AS amount
FROM client
WHERE
  client.country = 'US'
UNION ALL
SELECT
  debt.client_id AS id,
  debt.debt AS amount
FROM main.debt AS debt
---- postgres
SELECT
  client.client_id AS id,
  client.income AS amount
FROM client
WHERE
  client.country = 'US'
UNION ALL
SELECT
  debt.client_id AS id,
  debt.debt AS amount
FROM main.debt AS debt
