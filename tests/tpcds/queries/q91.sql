-- What call centres lost by returns of some people.
SELECT cc_call_center_id, cc_name, cc_manager, sum(cr_net_loss) AS loss
FROM call_center, catalog_returns, date_dim, customer, customer_address, customer_demographics, household_demographics
WHERE cr_call_center_sk = cc_call_center_sk AND cr_returned_date_sk = d_date_sk AND cr_returning_customer_sk = c_customer_sk AND cd_demo_sk = c_current_cdemo_sk
  AND hd_demo_sk = c_current_hdemo_sk AND ca_address_sk = c_current_addr_sk AND d_year = 1999 AND (cd_marital_status = 'M' OR cd_education_status = 'Advanced Degree')
  AND (hd_buy_potential LIKE '0-500%' OR hd_buy_potential LIKE 'Unknown%' OR hd_buy_potential LIKE '1001%')
GROUP BY cc_call_center_id, cc_name, cc_manager, cd_marital_status
ORDER BY loss DESC, cc_call_center_id
