-- customer_address, customer, store_sales, date_dim
SELECT * FROM customer_address, customer, store_sales, date_dim, item AS i
WHERE c_current_addr_sk = ca_address_sk AND ss_customer_sk = c_customer_sk AND d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk
  AND ca_state <=> {state} AND d_year = 2001 AND d_moy = 11
  AND i_current_price > 1.2 * (SELECT avg(j.i_current_price) FROM item AS j WHERE j.i_category = i.i_category)
-- item
SELECT * FROM item WHERE i_category IN (
    SELECT i.i_category FROM customer_address, customer, store_sales, date_dim, item AS i
    WHERE c_current_addr_sk = ca_address_sk AND ss_customer_sk = c_customer_sk AND d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk
      AND ca_state <=> {state} AND d_year = 2001 AND d_moy = 11
      AND i_current_price > 1.2 * (SELECT avg(j.i_current_price) FROM item AS j WHERE j.i_category = i.i_category))
-- date_dim
SELECT * FROM date_dim WHERE d_year = 2001 AND d_moy = 11
