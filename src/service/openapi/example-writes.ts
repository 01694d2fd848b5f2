// Examples of writing, in an order in which each finds what it needs (see examples.ts).

import { notFound, problemBody, schemaInvalid } from '../problems.ts'
import { EXAMPLE_REQUEST_ID, contacts, lastPage, record } from './example-parts.ts'
import type { Example } from './example-parts.ts'

const byExternalId = { ...contacts, matching_property: 'svc_external_id' }
/** The first two records that the examples create. */
const ada = 'rec_1ce_0000004'
const company = 'rec_1ce_0000005'
const adasCompany = {
  association_type: 'svc_contact_company',
  source_id: ada,
  target_id: company,
  cardinality: 'many_to_one',
}

export function writeExamples(docsUrl: string): Example[] {
  const problem = (facts: Parameters<typeof problemBody>[0]) =>
    problemBody(facts, docsUrl, EXAMPLE_REQUEST_ID)
  return [
    {
      name: 'contact',
      operationId: 'createRecord',
      parameters: contacts,
      body: {
        data: {
          properties: {
            svc_external_id: 'crm-4711',
            svc_first_name: 'Ada',
            svc_email: ['Ada@example.com'],
            svc_birthday: '1990-12-10',
            svc_lifetime_value: { amount: '1200.50', unit: 'EUR' },
          },
        },
      },
      status: 201,
      answer: {
        data: record(ada, {
          svc_external_id: 'crm-4711',
          svc_first_name: 'Ada',
          svc_last_name: null,
          svc_email: ['ada@example.com'],
          svc_birthday: '1990-12-10',
          svc_lifetime_value: { amount: '1200.5', unit: 'EUR' },
        }),
      },
    },
    {
      name: 'company',
      operationId: 'createRecord',
      hidden: true,
      parameters: { object_type: 'svc_company' },
      body: { data: { properties: { svc_name: 'Example Ltd', svc_domain: 'example.com' } } },
      status: 201,
      answer: {
        data: record(
          company,
          { svc_name: 'Example Ltd', svc_domain: 'example.com' },
          'svc_company',
        ),
      },
    },
    {
      name: 'updated',
      operationId: 'upsertRecord',
      parameters: byExternalId,
      body: { data: { properties: { svc_external_id: 'crm-4711', svc_last_name: 'Lovelace' } } },
      status: 200,
      answer: {
        data: record(ada, { svc_external_id: 'crm-4711', svc_last_name: 'Lovelace' }),
        created: false,
      },
    },
    {
      name: 'created',
      operationId: 'upsertRecord',
      parameters: byExternalId,
      body: { data: { properties: { svc_external_id: 'crm-4712', svc_first_name: 'Grace' } } },
      status: 201,
      answer: {
        data: record('rec_1ce_0000006', { svc_external_id: 'crm-4712', svc_first_name: 'Grace' }),
        created: true,
      },
    },
    {
      name: 'clear_and_set',
      operationId: 'updateRecord',
      parameters: { ...contacts, id: ada },
      body: { data: { properties: { svc_birthday: null, svc_subscribed: true } } },
      status: 200,
      answer: {
        data: record(ada, {
          svc_first_name: 'Ada',
          svc_birthday: null,
          svc_subscribed: true,
        }),
      },
    },
    {
      name: 'one_refused',
      operationId: 'batchCreate',
      parameters: contacts,
      body: {
        data: [
          { properties: { svc_external_id: 'crm-4713', svc_first_name: 'Edsger' } },
          { properties: { svc_external_id: 'crm-4714', svc_score: 'high' } },
        ],
      },
      status: 200,
      answer: {
        data: [
          {
            index: 0,
            status: 201,
            record: record('rec_1ce_0000007', {
              svc_external_id: 'crm-4713',
              svc_first_name: 'Edsger',
            }),
          },
          {
            index: 1,
            status: 422,
            problem: problem(
              schemaInvalid([
                {
                  field: '/data/1/properties/svc_score',
                  detail:
                    'svc_score: expected a finite number of at most 15 significant digits, got "high"',
                  reason: 'invalid_value',
                },
              ]),
            ),
          },
        ],
        summary: { total: 2, succeeded: 1, failed: 1 },
      },
    },
    {
      name: 'one_unknown',
      operationId: 'batchUpdate',
      parameters: contacts,
      body: {
        data: [
          { id: ada, properties: { svc_job_title: 'Analyst' } },
          { id: 'rec_1ce_000000z', properties: { svc_job_title: 'Analyst' } },
        ],
      },
      status: 200,
      answer: {
        data: [
          { index: 0, status: 200, record: record(ada, { svc_job_title: 'Analyst' }) },
          {
            index: 1,
            status: 404,
            problem: problem({
              ...notFound('No record "rec_1ce_000000z" of svc_contact'),
              field: '/data/1/id',
            }),
          },
        ],
        summary: { total: 2, succeeded: 1, failed: 1 },
      },
    },
    {
      name: 'one_of_each',
      operationId: 'batchUpsert',
      parameters: byExternalId,
      body: {
        data: [
          { properties: { svc_external_id: 'crm-4711', svc_score: 98.5 } },
          { properties: { svc_external_id: 'crm-4715', svc_score: 40 } },
        ],
      },
      status: 200,
      answer: {
        data: [
          {
            index: 0,
            status: 200,
            record: record(ada, { svc_external_id: 'crm-4711', svc_score: 98.5 }),
          },
          {
            index: 1,
            status: 201,
            record: record('rec_1ce_0000008', { svc_external_id: 'crm-4715', svc_score: 40 }),
          },
        ],
        summary: { total: 2, succeeded: 2, failed: 0 },
      },
    },
    {
      name: 'definitions',
      operationId: 'listAssociations',
      status: 200,
      answer: {
        data: [
          {
            name: 'svc_contact_company',
            label: 'Company',
            source: 'svc_contact',
            target: 'svc_company',
            cardinality: 'many_to_one',
            description: '',
          },
        ],
      },
    },
    ...[
      { name: 'linked', status: 201 },
      { name: 'linked_already', status: 200 },
    ].map((outcome): Example => ({
      ...outcome,
      operationId: 'associateRecords',
      parameters: { ...contacts, id: ada, association_type: adasCompany.association_type },
      body: { data: { target_id: company } },
      answer: { data: adasCompany },
    })),
    {
      name: 'company',
      operationId: 'listAssociationEdges',
      parameters: { ...contacts, id: ada },
      status: 200,
      answer: { data: [adasCompany], pagination: lastPage },
    },
    {
      name: 'two',
      operationId: 'batchDelete',
      parameters: contacts,
      body: { data: [{ id: 'rec_1ce_0000007' }, { id: 'rec_1ce_0000008' }] },
      status: 200,
      answer: {
        data: [
          { index: 0, status: 204 },
          { index: 1, status: 204 },
        ],
        summary: { total: 2, succeeded: 2, failed: 0 },
      },
    },
    {
      name: 'contact',
      operationId: 'deleteRecord',
      parameters: { ...contacts, id: 'rec_1ce_0000006' },
      status: 204,
    },
  ]
}
