-- Items that sell about as much in the store as by catalog in one quarter.
WITH shop AS (
    SELECT i_class AS id, sum(ss_ext_sales_price) AS revenue FROM store_sales, item, date_dim
    WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk
      AND d_date IN (SELECT d_date FROM date_dim WHERE d_quarter_seq = (SELECT d_quarter_seq FROM date_dim WHERE d_date = DATE '2000-01-03'))
    GROUP BY i_class
), catalog AS (
    SELECT i_class AS id, sum(cs_ext_sales_price) AS revenue FROM catalog_sales, item, date_dim
    WHERE cs_item_sk = i_item_sk AND cs_sold_date_sk = d_date_sk
      AND d_date IN (SELECT d_date FROM date_dim WHERE d_quarter_seq = (SELECT d_quarter_seq FROM date_dim WHERE d_date = DATE '2000-01-03'))
    GROUP BY i_class
)
SELECT shop.id, shop.revenue AS shop_revenue, shop.revenue / ((shop.revenue + catalog.revenue) / 2) * 100 AS deviation, catalog.revenue AS catalog_revenue
FROM shop, catalog
WHERE shop.id = catalog.id AND shop.revenue BETWEEN 0.7 * catalog.revenue AND 1.4 * catalog.revenue
ORDER BY shop.id, shop.revenue
