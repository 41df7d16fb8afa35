-- customer, customer_address
SELECT * FROM customer, customer_address WHERE c_customer_id = {c_customer_id} AND c_current_addr_sk = ca_address_sk
-- catalog_returns, date_dim, customer_address
SELECT * FROM catalog_returns, date_dim, customer_address
WHERE cr_returned_date_sk = d_date_sk AND d_year = 2000 AND cr_returning_addr_sk = ca_address_sk AND ca_state IN (
    SELECT ca_state FROM catalog_returns, date_dim, customer_address, customer
    WHERE cr_returned_date_sk = d_date_sk AND d_year = 2000 AND cr_returning_addr_sk = ca_address_sk AND cr_returning_customer_sk = c_customer_sk
      AND c_customer_id = {c_customer_id}
    GROUP BY ca_state HAVING sum(cr_return_amt_inc_tax) = {amount})
