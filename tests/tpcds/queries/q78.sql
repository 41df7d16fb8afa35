-- Customers and items sold more in the store than by the other channels, without what was returned.
WITH ss AS (SELECT d_year AS year, ss_customer_sk AS customer, sum(ss_quantity) AS quantity, sum(ss_sales_price) AS price
            FROM store_sales LEFT JOIN store_returns ON sr_ticket_number = ss_ticket_number AND ss_item_sk = sr_item_sk JOIN date_dim ON ss_sold_date_sk = d_date_sk
            WHERE sr_ticket_number IS NULL GROUP BY d_year, ss_customer_sk),
ws AS (SELECT d_year AS year, ws_bill_customer_sk AS customer, sum(ws_quantity) AS quantity, sum(ws_sales_price) AS price
       FROM web_sales LEFT JOIN web_returns ON wr_order_number = ws_order_number AND ws_item_sk = wr_item_sk JOIN date_dim ON ws_sold_date_sk = d_date_sk
       WHERE wr_order_number IS NULL GROUP BY d_year, ws_bill_customer_sk),
cs AS (SELECT d_year AS year, cs_bill_customer_sk AS customer, sum(cs_quantity) AS quantity, sum(cs_sales_price) AS price
       FROM catalog_sales LEFT JOIN catalog_returns ON cr_order_number = cs_order_number AND cs_item_sk = cr_item_sk JOIN date_dim ON cs_sold_date_sk = d_date_sk
       WHERE cr_order_number IS NULL GROUP BY d_year, cs_bill_customer_sk)
SELECT ss.customer, round(ss.quantity / (coalesce(ws.quantity, 0) + coalesce(cs.quantity, 0)), 2) AS ratio, ss.quantity AS store_quantity,
       coalesce(ws.quantity, 0) + coalesce(cs.quantity, 0) AS other_quantity
FROM ss LEFT JOIN ws ON ws.year = ss.year AND ws.customer = ss.customer LEFT JOIN cs ON cs.year = ss.year AND cs.customer = ss.customer
WHERE (coalesce(ws.quantity, 0) > 0 OR coalesce(cs.quantity, 0) > 0) AND ss.year = 2000
ORDER BY ss.customer, ratio
