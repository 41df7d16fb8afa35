-- The share of each item in what its class sold by catalog.
SELECT i_item_id, i_class, sum(cs_ext_sales_price) AS revenue,
       sum(cs_ext_sales_price) * 100 / sum(sum(cs_ext_sales_price)) OVER (PARTITION BY i_class) AS share
FROM catalog_sales, item, date_dim
WHERE cs_item_sk = i_item_sk AND i_category IN ('Sports', 'Music') AND cs_sold_date_sk = d_date_sk
  AND d_date >= DATE '1999-02-22' AND d_date <= DATE '1999-03-24'
GROUP BY i_item_id, i_class
ORDER BY i_class, share DESC, i_item_id
