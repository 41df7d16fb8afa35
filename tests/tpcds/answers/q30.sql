-- customer
SELECT * FROM customer WHERE c_customer_id = {c_customer_id}
-- web_returns, date_dim, customer_address
SELECT * FROM web_returns, date_dim, customer_address
WHERE wr_returned_date_sk = d_date_sk AND d_year >= 2000 AND wr_returning_addr_sk = ca_address_sk AND ca_state IN (
    SELECT ca_state FROM web_returns, date_dim, customer_address, customer
    WHERE wr_returned_date_sk = d_date_sk AND d_year >= 2000 AND wr_returning_addr_sk = ca_address_sk AND wr_returning_customer_sk = c_customer_sk
      AND c_customer_id = {c_customer_id}
    GROUP BY ca_state HAVING sum(wr_return_amt) = {amount})
