-- Brands that sold less, net of returns, than a year before.
WITH net AS (
    SELECT year, brand, class, sum(number) AS number, sum(amount) AS amount
    FROM (SELECT d_year AS year, i_brand_id AS brand, i_class_id AS class, cs_quantity - coalesce(cr_return_quantity, 0) AS number, cs_ext_sales_price - coalesce(cr_return_amount, 0) AS amount
          FROM catalog_sales JOIN item ON i_item_sk = cs_item_sk JOIN date_dim ON d_date_sk = cs_sold_date_sk
          LEFT JOIN catalog_returns ON cs_order_number = cr_order_number AND cs_item_sk = cr_item_sk WHERE i_category = 'Books'
          UNION
          SELECT d_year, i_brand_id, i_class_id, ss_quantity - coalesce(sr_return_quantity, 0), ss_ext_sales_price - coalesce(sr_return_amt, 0)
          FROM store_sales JOIN item ON i_item_sk = ss_item_sk JOIN date_dim ON d_date_sk = ss_sold_date_sk
          LEFT JOIN store_returns ON ss_ticket_number = sr_ticket_number AND ss_item_sk = sr_item_sk WHERE i_category = 'Books') AS sold
    GROUP BY year, brand, class
)
SELECT last.brand, last.class, last.number AS before, this.number AS now, this.number - last.number AS change, this.amount - last.amount AS amount_change
FROM net AS this, net AS last
WHERE this.brand = last.brand AND this.class = last.class AND this.year = 2002 AND last.year = 2001
  AND CAST(this.number AS decimal(17, 2)) / CAST(last.number AS decimal(17, 2)) < 0.9
ORDER BY change, amount_change, last.brand, last.class
