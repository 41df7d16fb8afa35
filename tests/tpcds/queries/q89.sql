-- Months in which a class sold far from its mean.
SELECT *
FROM (SELECT i_category, i_class, s_store_name, d_moy, sum(ss_sales_price) AS sales, avg(sum(ss_sales_price)) OVER (PARTITION BY i_category, s_store_name) AS mean
      FROM item, store_sales, date_dim, store
      WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND d_year = 1999 AND i_category IN ('Books', 'Shoes', 'Sports')
      GROUP BY i_category, i_class, s_store_name, d_moy) AS monthly
WHERE CASE WHEN mean <> 0 THEN abs(sales - mean) / mean END > 2
ORDER BY sales - mean, s_store_name, i_class, d_moy
