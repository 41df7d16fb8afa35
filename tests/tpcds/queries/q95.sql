-- Web orders shipped from several places and returned.
WITH several AS (
    SELECT a.ws_order_number AS number FROM web_sales AS a, web_sales AS b
    WHERE a.ws_order_number = b.ws_order_number AND a.ws_item_sk <> b.ws_item_sk
)
SELECT count(DISTINCT ws_order_number) AS orders, sum(ws_ext_ship_cost) AS shipping, sum(ws_net_profit) AS profit
FROM web_sales, date_dim, customer_address, web_site
WHERE d_date BETWEEN DATE '1999-02-01' AND DATE '2000-02-01' AND ws_ship_date_sk = d_date_sk AND ws_ship_addr_sk = ca_address_sk AND ws_web_site_sk = web_site_sk
  AND ws_order_number IN (SELECT number FROM several) AND ws_order_number IN (SELECT wr_order_number FROM web_returns, several WHERE wr_order_number = number)
