-- Catalog sales less refunds, before and after a day.
SELECT w_state, i_item_id,
       sum(CASE WHEN d_date < DATE '2000-03-11' THEN cs_sales_price - coalesce(cr_refunded_cash, 0) ELSE 0 END) AS before,
       sum(CASE WHEN d_date >= DATE '2000-03-11' THEN cs_sales_price - coalesce(cr_refunded_cash, 0) ELSE 0 END) AS after
FROM catalog_sales LEFT OUTER JOIN catalog_returns ON cs_order_number = cr_order_number AND cs_item_sk = cr_item_sk,
     warehouse, item, date_dim
WHERE i_current_price BETWEEN 0.99 AND 5.49 AND i_item_sk = cs_item_sk AND cs_warehouse_sk = w_warehouse_sk AND cs_sold_date_sk = d_date_sk
  AND d_date BETWEEN DATE '2000-02-10' AND DATE '2000-04-10'
GROUP BY w_state, i_item_id
ORDER BY w_state, i_item_id
