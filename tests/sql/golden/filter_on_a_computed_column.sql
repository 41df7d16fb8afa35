---- plan
σ (net < 0)
  π name, (income - debt) AS net
    ⋈ (client_id = client_id_2)
      client [client_id, name, country, income]
      debt [client_id_2, debt, date]
---- spark
SELECT
  q.name,
  q.net
FROM (
  SELECT
    client.name,
    client.income - debt.debt AS net
  FROM client
  INNER JOIN main.debt AS debt
    ON client.client_id = debt.client_id
) AS q
WHERE
  q.net < 0
---- postgres
SELECT
  q.name,
  q.net
FROM (
  SELECT
    client.name,
    client.income - debt.debt AS net
  FROM client
  INNER JOIN main.debt AS debt
    ON client.client_id = debt.client_id
) AS q
WHERE
  q.net < 0
