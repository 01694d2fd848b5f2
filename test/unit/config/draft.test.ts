// What `init` writes loads, whatever the columns and the reasons are: as it is, and with each line that waits in a comment.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { draftConfig, type DraftImport } from '../../../config/index.ts'
import { importOf, load } from './project.ts'
import { runs } from '../../runs.ts'

const base: DraftImport = {
  service: 'https://crm.example.com',
  serviceComment: '',
  key: { file: './crm.key' },
  keyComment: '',
  to: 'crm',
  sync: 'contacts',
  csv: { csv: './contacts.csv', delimiter: ';', encoding: 'windows-1252' },
  csvComment: '`;` gives 4 columns, in the header and in 100 % of the rows',
  csvWaiting: {
    csv: { csv: './Kunden.csv', delimiter: ';', encoding: 'windows-1250', nulls: ['#N/A'] },
    comment: 'it may be windows-1250 or another',
  },
  objectType: 'svc_contact',
  typeComment: '9 of 12 columns fit, and the name of the file',
  matchingProperty: 'svc_external_id',
  matchingComment: 'unique at the service; each of 1,000 rows has a value of its own',
  properties: [
    {
      property: 'svc_external_id',
      mapping: { column: 'Kundennr.' },
      comment: 'the name means the same',
      isOpen: false,
    },
    {
      property: 'svc_birthday',
      mapping: { column: 'Geburtsdatum', format: 'DD/MM/YYYY' },
      comment: 'DD/MM/YYYY and MM/DD/YYYY both fit',
      isOpen: true,
    },
    {
      property: 'svc_subscribed',
      mapping: { column: 'Newsletter', true: ['ja'], false: ['nein'] },
      comment: 'same meaning; yes and no',
      isOpen: false,
    },
  ],
  links: [
    {
      link: {
        association: 'svc_contact_company',
        to: 'svc_company',
        by: 'svc_domain',
        column: 'Firma',
      },
      comment: 'the values of "Firma" are keys of companies; for 3 rows, against 0',
    },
  ],
  left: [{ column: 'PLZ', reason: 'no property has such a name' }],
}

test('a draft is a configuration with its reasons behind the lines', async () => {
  const text = draftConfig(base)
  expect(text).toContain('        svc_external_id: Kundennr. # the name means the same\n')
  expect(text).toContain(
    '        # svc_birthday: { column: Geburtsdatum, format: DD/MM/YYYY } # DD/MM/YYYY and MM/DD/YYYY both fit\n',
  )
  expect(text).toContain('        #   "PLZ": no property has such a name\n')
  const { from, properties } = importOf(await load(text), 'contacts')
  expect(from).toMatchObject({ delimiter: ';', encoding: 'windows-1252' })
  expect(properties).toEqual({
    svc_external_id: { column: 'Kundennr.' },
    svc_subscribed: { column: 'Newsletter', true: ['ja'], false: ['nein'] },
  })
})

test('each form of the place of a key loads as it was', async () => {
  for (const key of [{ env: 'CRM_KEY' }, { command: `op read "a$b" 'x' \${HOME} # no` }]) {
    const { connections } = await load(draftConfig({ ...base, key }), { CRM_KEY: 'k' })
    expect(connections['crm']!.key).toEqual(key)
  }
  const { connections } = await load(draftConfig({ ...base, key: { file: './my ${key}: #1' } }))
  expect((connections['crm']!.key as { file: string }).file).toMatch(/my \$\{key\}: #1$/)
})

/** Without lone surrogates and NUL, which no file of ours has. */
const text = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }),
    fc.constantFrom(
      'true',
      '~',
      '1',
      '- a',
      'a: b',
      ' x ',
      '${HOME}',
      '$${',
      '#',
      "it's",
      '"',
      'a\nb',
      '\u2028',
      '\ufeff',
      '{',
      '[',
      '*a',
      '&a',
      '!a',
      '%',
      '@',
      '`',
      '|',
      '>',
      '?',
      ',',
      '...',
      '---',
      '2020-01-01',
      '0x1',
      '.5',
      'é',
      '\u0085',
    ),
  )
  .filter((one) => !one.includes('\0'))

test('it loads with any columns, settings and reasons; so it does with each line that waits', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(text, { minLength: 2, maxLength: 6 }),
      text,
      text,
      async ([first, ...others], reason, word) => {
        const properties = [
          {
            property: 'svc_external_id',
            mapping: { column: first! },
            comment: reason,
            isOpen: false,
          },
          ...others.map((column, index) => ({
            property: `svc_p${index}`,
            mapping: index === 0 ? { column, true: [word], split: word } : { column },
            comment: reason,
            isOpen: index % 2 === 0,
          })),
        ]
        const draft = draftConfig({
          ...base,
          csv: { csv: `./${word.replaceAll('/', '_')}` },
          typeComment: reason,
          properties,
          left: [{ column: first!, reason }],
        })
        const lines = draft.split('\n')
        const waiting = lines.flatMap((line, at) => (/^ {8}# svc_p\d+: /.test(line) ? [at] : []))
        const expected = Object.fromEntries(
          properties.map(({ property, mapping }) => [property, mapping]),
        )
        for (const chosen of [[], ...waiting.map((at) => [at]), waiting]) {
          const config = importOf(
            await load(
              lines
                .map((line, at) => (chosen.includes(at) ? line.replace('# ', '') : line))
                .join('\n'),
            ),
            'contacts',
          )
          expect(Object.keys(config.properties)).toHaveLength(
            properties.filter(({ isOpen }) => !isOpen).length + chosen.length,
          )
          for (const [name, mapping] of Object.entries(config.properties))
            expect(mapping).toEqual(expected[name])
        }
      },
    ),
    { numRuns: runs(150) },
  )
})
