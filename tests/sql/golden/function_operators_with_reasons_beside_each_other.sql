---- plan
φ other exam(debt) → other, other_why
  φ credit_exam(income, debt, loan_amount) → judgement, why
    π client_id, income, debt, loan_amount
      σ ((date_2 >= '2025-12-01') AND (date_2 < '2026-01-01'))
        ⋈ (client_id = client_id_3)
          ⋈ (client_id = client_id_2)
            client [client_id, name, country, income]
            debt [client_id_2, debt, date]
          loan [client_id_3, loan_amount, date_2]
---- spark
SELECT
  q.client_id,
  q.income,
  q.debt,
  q.loan_amount,
  q.judgement_with_reason.value AS judgement,
  q.judgement_with_reason.reason AS why,
  q.other_with_reason.value AS other,
  q.other_with_reason.reason AS other_why
FROM (
  SELECT
    client.client_id,
    client.income,
    debt.debt,
    `Loan Table`.loanAmount AS loan_amount,
    credit_exam(client.income, debt.debt, `Loan Table`.loanAmount) AS judgement_with_reason,
    `other exam`(debt.debt) AS other_with_reason
  FROM client
  INNER JOIN main.debt AS debt
    ON client.client_id = debt.client_id
  INNER JOIN main.`Loan Table` AS `Loan Table`
    ON client.client_id = `Loan Table`.client_id
  WHERE
    `Loan Table`.date >= DATE '2025-12-01' AND `Loan Table`.date < DATE '2026-01-01'
) AS q
---- postgres
the UDF other exam cannot run outside Spark: it runs in Spark's Python workers
