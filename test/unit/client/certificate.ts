// Certificates, made on the spot so that no private key lies in the repository.

import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { isIPv4 } from 'node:net'

const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from(head), content])
}
const sequence = (...parts: Buffer[]) => der(0x30, ...parts)
const hex = (text: string) => Buffer.from(text, 'hex')

/** PEM texts for a TLS server. */
export interface Issued {
  readonly key: string
  readonly cert: string
  readonly signs: { readonly name: Buffer; readonly key: KeyObject }
}

export interface IssueOptions {
  /** What signs it. Default: its own key. */
  readonly by?: Issued
  readonly isCa?: boolean
  readonly commonName?: string
  /** DNS names and IPv4 addresses. */
  readonly names?: readonly string[]
  /** `YYMMDD`. Default: from 2000 to 2049. */
  readonly from?: string
  readonly to?: string
}

const ecdsaWithSha256 = sequence(hex('06082a8648ce3d040302'))
const time = (day: string) => der(0x17, Buffer.from(`${day}000000Z`))
const octets = (content: Buffer) => der(0x04, content)

export function issue({
  by,
  isCa = false,
  commonName = 'test',
  names = [],
  from = '000101',
  to = '491231',
}: IssueOptions = {}): Issued {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const named = sequence(hex('0603550403'), der(0x0c, Buffer.from(commonName)))
  const name = sequence(der(0x31, named))
  const alternatives = names.map((each) =>
    isIPv4(each)
      ? der(0x87, Buffer.from(each.split('.').map(Number)))
      : der(0x82, Buffer.from(each)),
  )
  const extensions = [
    ...(isCa ? [sequence(hex('0603551d13'), hex('0101ff'), octets(sequence(hex('0101ff'))))] : []),
    ...(names.length > 0 ? [sequence(hex('0603551d11'), octets(sequence(...alternatives)))] : []),
  ]
  const body = sequence(
    hex('a003020102'),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    by?.signs.name ?? name,
    sequence(time(from), time(to)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length > 0 ? [der(0xa3, sequence(...extensions))] : []),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, by?.signs.key ?? privateKey))
  const cert = sequence(body, ecdsaWithSha256, signature).toString('base64')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${cert.match(/.{1,64}/g)!.join('\n')}\n-----END CERTIFICATE-----\n`,
    signs: { name, key: privateKey },
  }
}

/** One that its own key signed. */
export function selfSigned(): { key: string; cert: string } {
  const { key, cert } = issue()
  return { key, cert }
}
