// Names of a service that a configuration cannot hold: `init` leaves such properties out, and leaves no file that does not load.

import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import { requireReadable } from '../../../src/cli/commands/init-file.ts'
import { readTargets } from '../../../src/cli/commands/init-service.ts'
import { project } from './init-scene.ts'
import { said } from './said.ts'

test('a property whose name is too long for a configuration is left out', async () => {
  const { service } = await project()
  const client = new RecordsClient({ baseUrl: service.url, key: service.key })
  const schema = await client.readObjectType('svc_contact')
  const [first] = schema.properties
  const named = (name: string) => ({ ...first!, name, label: name })
  const names = ['x'.repeat(1_024), 'é"'.repeat(400), 'y'.repeat(900)]
  const through = {
    readSelf: () => client.readSelf(),
    listFieldTypes: () => client.listFieldTypes(),
    listObjectTypes: () => client.listObjectTypes(),
    readObjectType: async () => ({
      ...schema,
      properties: [...schema.properties, ...names.map(named)],
    }),
  } as unknown as RecordsClient
  const [target] = await readTargets(through, 'svc_contact', () => {})
  await client.close()
  expect(target!.schema.properties.map(({ name }) => name).slice(schema.properties.length)).toEqual(
    [names[2]],
  )
})

test('a configuration that does not load is taken away again; one that loads stays', async () => {
  const { config, write } = await project()
  write('records-sync.yaml', `connections: {}\nsyncs: {}\n${'x'.repeat(1_030)}: 1\n`)
  const { code, err } = await said(config, async (context) => {
    await requireReadable(context)
    return 0
  })
  expect(code).toBe(2)
  expect(err.join(' ')).toMatch(/cannot be written in a configuration, so none was left: .*1,024/)
  expect(existsSync(config)).toBe(false)
  write('records-sync.yaml', `connections: {}\nsyncs: {}\n`)
  await said(config, async (context) => {
    await requireReadable(context)
    return 0
  })
  expect(existsSync(config)).toBe(true)
})
