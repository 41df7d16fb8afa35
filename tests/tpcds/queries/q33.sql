-- Sales of a category's makers in all channels together.
WITH makers AS (SELECT i_manufact_id AS maker FROM item WHERE i_category = 'Electronics'),
ss AS (
    SELECT i_manufact_id AS maker, sum(ss_ext_sales_price) AS total
    FROM store_sales, date_dim, customer_address, item
    WHERE i_manufact_id IN (SELECT maker FROM makers) AND ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk
      AND d_year = 1998 AND d_moy = 5 AND ss_addr_sk = ca_address_sk AND ca_gmt_offset = -5
    GROUP BY i_manufact_id
), cs AS (
    SELECT i_manufact_id AS maker, sum(cs_ext_sales_price) AS total
    FROM catalog_sales, date_dim, customer_address, item
    WHERE i_manufact_id IN (SELECT maker FROM makers) AND cs_item_sk = i_item_sk AND cs_sold_date_sk = d_date_sk
      AND d_year = 1998 AND d_moy = 5 AND cs_bill_addr_sk = ca_address_sk AND ca_gmt_offset = -5
    GROUP BY i_manufact_id
)
SELECT maker, sum(total) AS sales FROM (SELECT * FROM ss UNION ALL SELECT * FROM cs) AS both
GROUP BY maker ORDER BY sales, maker
