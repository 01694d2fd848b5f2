// The documentation's pages, as a browser would get them.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROBLEM_CODES, REASONS } from '../../../src/contract/index.ts'
import { ASSETS } from '../../../src/service/docs/assets.ts'
import { REFUSALS } from '../../../src/service/openapi/refusals.ts'
import { expectProblem, expectStandardHeaders, startApi } from './api.ts'
import type { Api } from './api.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.service.close())

const pages = [
  '/docs',
  '/docs/',
  '/docs/errors',
  ...PROBLEM_CODES.map((code) => `/docs/errors/${code}`),
]
const assets = Object.keys(ASSETS).map((name) => `/docs/${name}`)
const read = (path: string) => api.send('GET', path, { key: null })

/** What a page loads or points at. */
const linksOf = (html: string) =>
  [...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map((match) => match[1]!)

describe('a page', () => {
  it.each(pages)('%s is public, whole, and has a policy that a browser obeys', async (path) => {
    const answer = await read(path)
    const { status, headers, body } = answer
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expectStandardHeaders(answer)
    const policy = headers.get('content-security-policy')!
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|http|\*/)
    // What this policy would block: scripts and styles within the page.
    expect(body).not.toMatch(/<script(?![^>]* src=)|<style| style=| on[a-z]+=/)
    expect(body).toMatch(/^<!doctype html>\n<html lang="en">/)
    expect(body).toMatch(/<meta name="viewport"[^>]*>/)
    expect(body.match(/<h1|id="operations"/g)).toHaveLength(1)
  })

  it('loads, and points at, nothing but this service', async () => {
    const all = new Set<string>()
    for (const path of pages) for (const link of linksOf((await read(path)).body)) all.add(link)
    for (const asset of assets) expect(all).toContain(asset)
    for (const link of all) {
      if (link === 'data:,') continue
      const url = new URL(link, api.service.url)
      expect(url.origin).toBe(api.service.url)
      expect((await fetch(url)).status, link).toBe(200)
    }
  })

  it('about an unknown code is not there', async () => {
    expectProblem(await read('/docs/errors/nonsense'), 404, 'not_found')
  })
})

describe('the page about an error code', () => {
  it('is where the type of a problem points', async () => {
    const { type } = (await api.send('GET', '/nowhere/')).body
    expect(await (await fetch(type)).text()).toContain('<h1><code>not_found</code></h1>')
  })

  it.each(PROBLEM_CODES)('%s tells every case, what to do, and an example', async (code) => {
    const { body } = await read(`/docs/errors/${code}`)
    for (const [reason, facts] of Object.entries(REASONS)) {
      if (facts.code === code) expect(body).toContain(`<code>${reason}</code>`)
    }
    const cases = Object.values(REFUSALS).filter((refusal) => refusal.code === code)
    expect(body.match(/class="case"/g)).toHaveLength(cases.length)
    for (const { status } of cases) expect(body).toContain(`<span class="status">${status}</span>`)
    const example = /<pre[^>]*><code>(.*?)<\/code>/s.exec(body)![1]!
    const problem = JSON.parse(
      example
        .replaceAll('&quot;', '"')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&amp;', '&'),
    )
    expect(problem).toMatchObject({ code, type: `${api.service.url}/docs/errors/${code}` })
    expect(cases.map(({ detail }) => detail)).toContain(problem.detail)
  })

  it('escapes what it quotes', async () => {
    const { body } = await read('/docs/errors/unauthenticated')
    expect(body).toContain('Bearer &lt;API_KEY&gt;')
  })
})

describe('what the pages load', () => {
  it.each(assets)('%s is of the type that it says', async (path) => {
    const { status, headers, body } = await read(path)
    expect(status).toBe(200)
    const type = path.endsWith('.css') ? 'text/css' : 'text/javascript'
    expect(headers.get('content-type')).toBe(`${type}; charset=utf-8`)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(body.length).toBeGreaterThan(500)
  })

  it('draws the operations by the library, from the document', async () => {
    const { body } = await read('/docs/operations.js')
    expect(body).toContain("fetch('/rest/v1/openapi.json')")
    expect((await read('/docs/swagger-ui-bundle.js')).body).toContain('SwaggerUIBundle')
  })
})
