-- Customers who returned more by catalog than is usual in their state.
WITH returned AS (
    SELECT cr_returning_customer_sk AS customer, ca_state AS state, sum(cr_return_amt_inc_tax) AS amount
    FROM catalog_returns, date_dim, customer_address
    WHERE cr_returned_date_sk = d_date_sk AND d_year = 2000 AND cr_returning_addr_sk = ca_address_sk
    GROUP BY cr_returning_customer_sk, ca_state
)
SELECT c_customer_id, c_first_name, c_last_name, home.ca_state, amount
FROM returned AS r JOIN customer ON customer = c_customer_sk JOIN customer_address AS home ON home.ca_address_sk = c_current_addr_sk
WHERE amount > (SELECT avg(amount) * 1.2 FROM returned AS o WHERE o.state = r.state)
ORDER BY c_customer_id, c_first_name, c_last_name, amount
