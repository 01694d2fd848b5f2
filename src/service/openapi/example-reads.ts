// Examples of reading (see examples.ts).

import { BASE_PATH } from '../../contract/index.ts'
import { FIELD_TYPES } from '../schema/field-types.ts'
import { SYSTEM_TYPES } from '../schema/system-types.ts'
import { EXAMPLE_ORG_ID, contacts, lastPage, record } from './example-parts.ts'
import type { Example } from './example-parts.ts'

const contactType = SYSTEM_TYPES.get(contacts.object_type)!
const shownProperties = ['svc_external_id', 'svc_email', 'svc_lifecycle_stage', 'svc_created_at']

export function readExamples(url: string, docsUrl: string): Example[] {
  return [
    {
      name: 'root',
      operationId: 'readRoot',
      status: 200,
      answer: {
        data: { version: 'v1', openapi_url: `${url}${BASE_PATH}/openapi.json`, docs_url: docsUrl },
      },
    },
    {
      name: 'document',
      operationId: 'readOpenApi',
      status: 200,
      answer: { openapi: '3.1.0', info: { title: 'Records Service', version: 'v1' }, paths: {} },
    },
    {
      name: 'administrator',
      operationId: 'readSelf',
      status: 200,
      answer: {
        data: {
          org_id: EXAMPLE_ORG_ID,
          principal: {
            entity_id: 'usr_admin',
            entity_type: 'user',
            display_name: 'Administrator',
          },
          permissions: [{ entity_type: 'svc_contact', read: true, write: true }],
          reach: 'org',
        },
      },
    },
    {
      name: 'types',
      operationId: 'listObjectTypes',
      status: 200,
      answer: { data: [contactType.summary, SYSTEM_TYPES.get('svc_risk')!.summary] },
    },
    {
      name: 'contact',
      operationId: 'readObjectType',
      parameters: contacts,
      status: 200,
      answer: {
        data: {
          ...contactType.summary,
          properties: shownProperties.map((name) => contactType.properties.get(name)!.wire),
        },
      },
    },
    {
      name: 'field_types',
      operationId: 'listFieldTypes',
      status: 200,
      answer: { data: ['currency', 'date'].map((name) => FIELD_TYPES.get(name)!.wire) },
    },
    {
      name: 'names',
      operationId: 'listRecords',
      parameters: { ...contacts, properties: 'svc_first_name,svc_email' },
      status: 200,
      answer: {
        data: [
          record('rec_1ce_0000001', {
            svc_first_name: 'Hugo',
            svc_email: ['hugo.albers.1@example.com'],
          }),
          record('rec_1ce_0000002', {
            svc_first_name: 'Bela',
            svc_email: ['bela.costa.2@example.com'],
          }),
        ],
        pagination: lastPage,
      },
    },
    {
      name: 'contact',
      operationId: 'readRecord',
      parameters: { ...contacts, id: 'rec_1ce_0000001' },
      status: 200,
      answer: {
        data: record('rec_1ce_0000001', {
          svc_external_id: 'seed-1',
          svc_first_name: 'Hugo',
          svc_email: ['hugo.albers.1@example.com'],
          svc_phone: null,
          svc_score: 7.4,
          svc_lifetime_value: { amount: '4811', unit: 'EUR' },
          svc_created_at: '2026-01-01T00:00:01.000Z',
        }),
      },
    },
    {
      name: 'customers',
      operationId: 'queryRecords',
      parameters: contacts,
      body: {
        filter: {
          $and: [
            { property: 'svc_lifecycle_stage', op: 'in', value: ['lead', 'customer'] },
            { property: 'svc_lifetime_value', op: 'gt', value: { amount: '5000', unit: 'EUR' } },
          ],
        },
        sorts: [{ property: 'svc_score', direction: 'desc' }],
        properties: ['svc_external_id', 'svc_score'],
        limit: 100,
      },
      status: 200,
      answer: {
        data: [record('rec_1ce_0000003', { svc_external_id: 'seed-3', svc_score: 69 })],
        pagination: lastPage,
      },
    },
    {
      name: 'search',
      operationId: 'queryRecords',
      parameters: contacts,
      body: { search: 'costa head', properties: ['svc_job_title'] },
      status: 200,
      answer: {
        data: [record('rec_1ce_0000002', { svc_job_title: 'Head of Sales' })],
        pagination: lastPage,
      },
    },
    {
      name: 'count_by_stage',
      operationId: 'aggregateRecords',
      parameters: contacts,
      body: { aggregations: [{ op: 'count' }], group_by: ['svc_lifecycle_stage'] },
      status: 200,
      answer: {
        data: {
          total_groups: 3,
          results: [{ group_by: { svc_lifecycle_stage: 'customer' }, value: 1 }],
          has_more: false,
        },
      },
    },
    {
      name: 'sum_of_currency',
      operationId: 'aggregateRecords',
      parameters: contacts,
      body: {
        aggregations: [{ op: 'sum', property: 'svc_lifetime_value' }],
        filter: { property: 'svc_email', op: 'is_null', value: false },
      },
      status: 200,
      answer: {
        data: {
          total_groups: 1,
          results: [{ group_by: {}, value: [{ amount: '18669', unit: 'EUR' }] }],
          has_more: false,
        },
      },
    },
  ]
}
