// Links between documents: each leads to a file of the project, and each fragment to a heading of it.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const folders = ['docs', 'src', 'config', 'test', '.github']

const pages = [
  ...readdirSync(root).map((name) => join(root, name)),
  ...folders
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    ),
].filter((file) => file.endsWith('.md') && statSync(file).isFile())

const withoutCode = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, '')

/** The fragment that a heading gets where Markdown is shown. */
const fragmentOf = (heading: string) =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

const fragmentsOf = (file: string) =>
  new Set(
    [...withoutCode(readFileSync(file, 'utf8')).matchAll(/^#{1,6} (.+)$/gm)].map((match) =>
      fragmentOf(match[1]!),
    ),
  )

test('every link between documents has a target', () => {
  let links = 0
  const broken: string[] = []
  for (const page of pages)
    for (const [, to] of withoutCode(readFileSync(page, 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(to!)) continue
      links += 1
      const [path, fragment] = to!.split('#')
      const file = path === '' ? page : resolve(dirname(page), path!)
      const isThere =
        existsSync(file) &&
        !relative(root, file).startsWith('..') &&
        (!fragment || !file.endsWith('.md') || fragmentsOf(file).has(fragment))
      if (!isThere) broken.push(`${relative(root, page)}: ${to}`)
    }
  expect(broken).toEqual([])
  expect(links).toBeGreaterThan(50)
})
