---- plan
⟖ (client_id = client_id_2)
  σ (country = 'US')
    client [client_id, name, country, income]
  σ (debt > 100)
    debt [client_id_2, debt, date]
---- spark
SELECT
  q.client_id,
  q.name,
  q.country,
  q.income,
  debt.client_id AS client_id_2,
  debt.debt,
  debt.date
FROM (
  SELECT
    client.client_id,
    client.name,
    client.country,
    client.income
  FROM client
  WHERE
    client.country = 'US'
) AS q
RIGHT OUTER JOIN main.debt AS debt
  ON q.client_id = debt.client_id
WHERE
  debt.debt > 100
---- postgres
SELECT
  q.client_id,
  q.name,
  q.country,
  q.income,
  debt.client_id AS client_id_2,
  debt.debt,
  debt.date
FROM (
  SELECT
    client.client_id,
    client.name,
    client.country,
    client.income
  FROM client
  WHERE
    client.country = 'US'
) AS q
RIGHT OUTER JOIN main.debt AS debt
  ON q.client_id = debt.client_id
WHERE
  debt.debt > 100
