-- store_sales, store_returns, catalog_sales, store, item
SELECT * FROM store_sales, store_returns, catalog_sales, date_dim AS d1, date_dim AS d2, date_dim AS d3, store, item
WHERE d1.d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk AND s_store_sk = ss_store_sk
  AND ss_customer_sk = sr_customer_sk AND ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number
  AND sr_returned_date_sk = d2.d_date_sk AND sr_customer_sk = cs_bill_customer_sk AND sr_item_sk = cs_item_sk
  AND cs_sold_date_sk = d3.d_date_sk AND d1.d_year <= d2.d_year AND i_item_id = {i_item_id} AND s_store_id = {s_store_id}
-- date_dim
SELECT d.d_date_sk FROM store_sales, store_returns, catalog_sales, date_dim AS d1, date_dim AS d2, store, item, date_dim AS d
WHERE d1.d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk AND s_store_sk = ss_store_sk
  AND ss_customer_sk = sr_customer_sk AND ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number
  AND sr_returned_date_sk = d2.d_date_sk AND sr_customer_sk = cs_bill_customer_sk AND sr_item_sk = cs_item_sk
  AND d1.d_year <= d2.d_year AND i_item_id = {i_item_id} AND s_store_id = {s_store_id}
  AND cs_sold_date_sk IN (SELECT d_date_sk FROM date_dim)
  AND (d.d_date_sk = ss_sold_date_sk OR d.d_date_sk = sr_returned_date_sk OR d.d_date_sk = cs_sold_date_sk)
