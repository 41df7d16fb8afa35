-- Months in which a brand sold far more or less than its monthly mean, with the months before and after.
WITH monthly AS (
    SELECT i_category AS category, s_store_name AS shop, d_year AS year, d_moy AS month, sum(ss_sales_price) AS sales,
           avg(sum(ss_sales_price)) OVER (PARTITION BY i_category, s_store_name, d_year) AS mean,
           rank() OVER (PARTITION BY i_category, s_store_name ORDER BY d_year, d_moy) AS place
    FROM item, store_sales, date_dim, store
    WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk
      AND (d_year = 1999 OR (d_year = 1998 AND d_moy = 12) OR (d_year = 2000 AND d_moy = 1))
    GROUP BY i_category, s_store_name, d_year, d_moy
)
SELECT m.category, m.shop, m.month, m.mean, m.sales, before.sales AS last_month, after.sales AS next_month
FROM monthly AS m
JOIN monthly AS before ON before.category = m.category AND before.shop = m.shop AND before.place = m.place - 1
JOIN monthly AS after ON after.category = m.category AND after.shop = m.shop AND after.place = m.place + 1
WHERE m.year = 1999 AND m.mean > 0 AND abs(m.sales - m.mean) / m.mean > 0.4
ORDER BY m.sales - m.mean, m.category, m.shop, m.month
LIMIT 15
