---- plan
α country; max(net) AS best
  π country, (income - debt) AS net
    ⋈ (client_id = client_id_2)
      client [client_id, name, country, income]
      debt [client_id_2, debt, date]
---- spark
SELECT
  client.country,
  MAX(client.income - debt.debt) AS best
FROM client
INNER JOIN main.debt AS debt
  ON client.client_id = debt.client_id
GROUP BY
  client.country
---- postgres
SELECT
  client.country,
  MAX(client.income - debt.debt) AS best
FROM client
INNER JOIN main.debt AS debt
  ON client.client_id = debt.client_id
GROUP BY
  client.country
