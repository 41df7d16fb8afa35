-- Customers who returned more from the web than is usual in their state.
WITH returned AS (
    SELECT wr_returning_customer_sk AS customer, ca_state AS state, sum(wr_return_amt) AS amount
    FROM web_returns, date_dim, customer_address
    WHERE wr_returned_date_sk = d_date_sk AND d_year >= 2000 AND wr_returning_addr_sk = ca_address_sk
    GROUP BY wr_returning_customer_sk, ca_state
)
SELECT c_customer_id, c_salutation, c_first_name, c_last_name, amount
FROM returned AS r, customer
WHERE amount > (SELECT avg(amount) * 1.05 FROM returned AS o WHERE r.state = o.state) AND customer = c_customer_sk
ORDER BY c_customer_id, amount
