// Every setting that names a file with a key is known as one: no query of a warehouse reads such a file. The settings are those of the
// JSON Schema, so that a new one is among them.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { keyFilesIn } from '../../../config/load.ts'

interface Node {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string | undefined
  readonly properties?: Readonly<Record<string, Node>>
  readonly additionalProperties?: Node | boolean
  readonly items?: Node
  readonly anyOf?: readonly Node[]
}
const schema = JSON.parse(
  readFileSync(new URL('../../../config/records-sync.schema.json', import.meta.url), 'utf8'),
) as Node & { readonly $defs?: Readonly<Record<string, Node>> }

/** Every setting that is a text, by its path: `*` is a member of a mapping or a list. */
function* textsIn(node: Node, path: readonly string[] = []): Generator<[string[], Node]> {
  if (node.$ref !== undefined)
    return yield* textsIn(schema.$defs![node.$ref.replace('#/$defs/', '')]!, path)
  if (path.length > 12) return
  if (node.type === 'string') yield [[...path], node]
  for (const [name, below] of Object.entries(node.properties ?? {}))
    yield* textsIn({ ...below, description: `${node.description} ${below.description}` }, [
      ...path,
      name,
    ])
  for (const below of [node.additionalProperties, node.items])
    if (typeof below === 'object')
      yield* textsIn(below, [...path, below === node.items ? '[]' : '*'])
  for (const below of node.anyOf ?? [])
    yield* textsIn({ ...below, description: below.description ?? node.description }, path)
}

/** A configuration with this one setting. */
const withSetting = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight(
    (below, step) => (step === '[]' ? [below] : { [step === '*' ? 'one' : step]: below }),
    value,
  )

const secretLike = /only its owner may read|that holds the|private key/i
const files = [...textsIn(schema)].filter(
  ([path, { description = '' }]) =>
    secretLike.test(description) &&
    !/^(?:env|command)$/.test(path.at(-1)!) &&
    /file/i.test(description + path.at(-1)),
)

test.each(files.map(([path]) => [path.join('.'), path] as const))(
  '%s names a file that no query reads',
  (_, path) => {
    const found = keyFilesIn(withSetting(path, '/k') as never)
    expect(found).toEqual(['/k'])
  },
)

test('the settings of the console, of Temporal, of connections, warehouses, ledger and webhooks are among them', () => {
  const names = files.map(([path]) => path.join('.'))
  expect(names).toEqual(
    expect.arrayContaining([
      'ledger.postgres.file',
      'ledger.signing_key.file',
      'connections.*.key.file',
      'warehouses.*.postgres.file',
      'temporal.tls.client_key',
      'temporal.api_key.file',
      'temporal.encryption_keys.[].file',
      'console.tls.key',
      'console.users.*.password.file',
      'notifications.*.url.file',
    ]),
  )
})

test('a setting whose name speaks of a key is the place of one', () => {
  const named = [...textsIn(schema)].filter(([path]) =>
    /(?:^|_)(?:key|token|secret|password|credential|private)s?$/.test(
      path.filter((step) => !/^(?:\*|\[\]|env|file|command)$/.test(step)).at(-1)!,
    ),
  )
  const unknown = named.filter(
    ([path]) =>
      !/^(?:env|command)$/.test(path.at(-1)!) &&
      keyFilesIn(withSetting(path, '/k') as never).length === 0 &&
      keyFilesIn(withSetting(path, { file: '/k' }) as never).length === 0,
  )
  expect(unknown.map(([path]) => path.join('.'))).toEqual([])
})
