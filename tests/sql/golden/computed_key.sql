---- plan
α net; count(1) AS n
  π (income - debt) AS net
    ⋈ (client_id = client_id_2)
      client [client_id, name, country, income]
      debt [client_id_2, debt, date]
---- spark
SELECT
  q.net,
  COUNT(*) AS n
FROM (
  SELECT
    client.income - debt.debt AS net
  FROM client
  INNER JOIN main.debt AS debt
    ON client.client_id = debt.client_id
) AS q
GROUP BY
  q.net
---- postgres
SELECT
  q.net,
  COUNT(*) AS n
FROM (
  SELECT
    client.income - debt.debt AS net
  FROM client
  INNER JOIN main.debt AS debt
    ON client.client_id = debt.client_id
) AS q
GROUP BY
  q.net
