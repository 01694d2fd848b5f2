// Makes the package that users install: one file with everything in it, so that npm fetches nothing else, runs no install
// script and needs no other version of Node than ours (docs/decisions/0120). The packages are those of package-lock.json, without
// what only compilers and other systems need. Plain JavaScript like setup.mjs, which runs before it.
//
//   npm run package [-- --out FOLDER] [--platforms linux-x64,darwin-arm64] [--unpacked]

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const at = (...parts) => path.join(root, ...parts)
const readJson = (file) => JSON.parse(fs.readFileSync(file, 'utf8'))

/** Those that Temporal's SDK has a native part for, and that we test or know to work. */
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']

/** Installed by those who use it: 71 MB that most do not need. */
const OPTIONAL = ['@duckdb/node-api']

/**
 * What is not taken along. Workflows are bundled when we build, so the bundler is not needed; the others serve a compiler or count
 * downloads.
 */
const BUNDLER = ['webpack', 'memfs', 'unionfs']
const LEFT_OUT = [
  ...BUNDLER,
  ...OPTIONAL,
  '@swc/core',
  'swc-loader',
  'source-map-loader',
  '@scarf/scarf',
  'node-addon-api',
]

/** Fields of package.json that serve the checkout. */
const OURS_ALONE = [
  'private',
  'scripts',
  'devDependencies',
  'overrides',
  'allowScripts',
  'scarfSettings',
]

/** What the types of `records-sync/client` name. */
const TYPED = ['zod', 'undici']
const LEGAL = /^(?:licen[cs]e|copying|notice|patents|authors)|licen[cs]e\.txt$/i
const NOT_RUN =
  /\.(?:map|md|markdown|flow|tsbuildinfo|html|c|cc|cpp|h|hpp|rs|toml|gyp|gypi|proto|png|ico|iife\.js)$|(?:^|\/)(?:\.[^/]*|tsconfig[^/]*\.json|eslint\.config\.[cm]?js|Cargo\.lock)$/
const TYPES = /\.[cm]?ts$/
const NOT_RUN_FOLDERS = /^(?:tests?|__tests__|benchmarks?|examples?|docs|integration|man|types)\//

/** Of packages that bring themselves several times, or for several systems: the files that are run. */
const only = {
  '@temporalio/core-bridge': (file, { isPlatform }) =>
    /^(?:index|common)\.js$|^lib\//.test(file) ||
    (file.startsWith('releases/') && isPlatform(platformOfRelease(file.split('/')[1]))),
  '@photostructure/sqlite': (file, { isPlatform }) =>
    /^dist\/index\.[cm]js$/.test(file) ||
    (file.startsWith('prebuilds/') && isPlatform(file.split('/')[1])),
  'swagger-ui-dist': (file) => /^swagger-ui(?:-bundle\.js|\.css)$/.test(file),
  'csv-parse': (file) => file.startsWith('lib/'),
  'libphonenumber-js': (file) => /^(?:max|core|es6)\/|^metadata\.max\.json\.js$/.test(file),
  re2js: (file) => file === 'build/index.js',
  protobufjs: (file) => !/^(?:dist|cli)\//.test(file),
  rxjs: (file) => file.startsWith('dist/cjs/'),
  yaml: (file) => file.startsWith('dist/'),
  zod: (file) => !/^(?:src|v3|v4-mini|mini)\/|\.c(?:js|ts)$/.test(file),
}

class PackageError extends Error {}

/** `x86_64-unknown-linux-gnu` → `linux-x64` */
function platformOfRelease(name) {
  const [cpu, vendor, system] = name.split('-')
  const arch = { x86_64: 'x64', aarch64: 'arm64' }[cpu]
  return `${{ apple: 'darwin', pc: 'win32' }[vendor] ?? system}-${arch}`
}

/** The packages of the lock file that are run, by their folders, as npm lays them out. */
function foldersOf(lock) {
  const found = new Map()
  const folderOf = (name, from) => {
    for (let above = from; ; above = above.slice(0, above.lastIndexOf('node_modules/'))) {
      const folder = `${above === '' || above.endsWith('/') ? above : `${above}/`}node_modules/${name}`
      if (lock[folder] !== undefined) return folder
      if (!above.includes('node_modules/')) return null
    }
  }
  const visit = (from) => {
    const { dependencies = {}, optionalDependencies = {} } = lock[from]
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (LEFT_OUT.includes(name) || name.startsWith('@types/')) continue
      const folder = folderOf(name, from)
      if (folder === null) throw new PackageError(`${from}: the lock file has no package ${name}`)
      if (found.has(folder)) continue
      found.set(folder, name)
      visit(folder)
    }
  }
  visit('')
  return found
}

function isRun(name, file, chosen) {
  if (file === 'package.json' || LEGAL.test(path.basename(file))) return true
  const rule = only[name]
  if (rule !== undefined && !rule(file, chosen)) return false
  if (TYPES.test(file)) return TYPED.includes(name)
  if (NOT_RUN.test(file)) return false
  return !NOT_RUN_FOLDERS.test(file) || (TYPED.includes(name) && file.startsWith('types/'))
}

/** A link costs no room and no time; where there are none, a copy. */
function put(from, to) {
  fs.mkdirSync(path.dirname(to), { recursive: true })
  try {
    fs.linkSync(from, to)
  } catch {
    fs.copyFileSync(from, to)
  }
}

function filesIn(folder, without) {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .filter((file) => without === undefined || !file.split(path.sep).includes(without))
    .map((file) => file.split(path.sep).join('/'))
}

/** Without scripts and without what was left out: npm would fetch that, and ask whether scripts may run. */
function manifestOf(folder) {
  const manifest = readJson(at(folder, 'package.json'))
  for (const field of ['scripts', 'devDependencies', 'gypfile', 'bundleDependencies', 'files'])
    delete manifest[field]
  for (const field of ['dependencies', 'optionalDependencies']) {
    for (const name of Object.keys(manifest[field] ?? {}))
      if (LEFT_OUT.includes(name) || name.startsWith('@types/')) delete manifest[field][name]
  }
  return manifest
}

/** The SDK loads the bundler when it is loaded itself, and uses it only where workflows are not bundled yet. */
function withoutBundler(folder, stage) {
  const loads = new RegExp(
    String.raw`(?:__importStar\()?require\("(${BUNDLER.join('|')})"\)\)?`,
    'g',
  )
  const met = new Set()
  for (const file of filesIn(path.join(stage, folder, 'lib'))) {
    if (!file.endsWith('.js')) continue
    const target = path.join(stage, folder, 'lib', file)
    const text = fs.readFileSync(target, 'utf8')
    const changed = text.replaceAll(loads, (_, name) => {
      met.add(name)
      return '{}'
    })
    if (changed === text) continue
    // Not into the file itself: it may be a link to the one in node_modules.
    fs.rmSync(target)
    fs.writeFileSync(target, changed)
  }
  const missed = BUNDLER.filter((name) => !met.has(name))
  if (missed.length > 0)
    throw new PackageError(
      `${folder} does not load ${missed.join(', ')} any more; expected so (BUNDLER in src/dev/package.mjs)`,
    )
}

function stagePackages(folders, stage, chosen) {
  for (const [folder, name] of folders) {
    const source = at(folder)
    if (!fs.existsSync(source)) throw new PackageError(`${folder} is not installed; run npm ci`)
    for (const file of filesIn(source, 'node_modules')) {
      if (file !== 'package.json' && isRun(name, file, chosen))
        put(path.join(source, file), path.join(stage, folder, file))
    }
    const manifest = path.join(stage, folder, 'package.json')
    fs.mkdirSync(path.dirname(manifest), { recursive: true })
    fs.writeFileSync(manifest, JSON.stringify(manifestOf(folder), null, 2))
    if (name === '@temporalio/worker') withoutBundler(folder, stage)
  }
}

/** Our own files: what package.json lists, and what npm always takes. */
function stageOwn(files, stage) {
  for (const entry of ['README.md', 'LICENSE', ...files]) {
    const source = at(entry)
    if (!fs.existsSync(source))
      throw new PackageError(`package.json lists ${entry}, which is missing`)
    if (fs.statSync(source).isFile()) put(source, path.join(stage, entry))
    else
      for (const file of filesIn(source))
        put(path.join(source, file), path.join(stage, entry, file))
  }
  for (const file of ['dist/src/cli/main.js', 'dist/workflow-bundle.js']) {
    if (!fs.existsSync(path.join(stage, file)))
      throw new PackageError(`${file} is missing; run npm run build`)
  }
}

/** A hosted build knows where the project is; a build anywhere else names no place. */
function addresses({ GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name }) {
  if (!server || !name) return {}
  const home = `${server}/${name}`
  return {
    repository: { type: 'git', url: `git+${home}.git` },
    homepage: `${home}#readme`,
    bugs: { url: `${home}/issues` },
  }
}

function ownManifest(lock) {
  const kept = readJson(at('package.json'))
  for (const field of OURS_ALONE) delete kept[field]
  const dependencies = Object.keys(kept.dependencies).filter((name) => !LEFT_OUT.includes(name))
  const versions = (names) =>
    Object.fromEntries(names.map((name) => [name, lock[`node_modules/${name}`].version]))
  return {
    ...kept,
    ...addresses(process.env),
    dependencies: versions(dependencies),
    bundleDependencies: dependencies,
    peerDependencies: versions(OPTIONAL),
    peerDependenciesMeta: Object.fromEntries(OPTIONAL.map((name) => [name, { optional: true }])),
  }
}

/** Packs what is staged; every file of it must be in. */
function pack(stage, out) {
  fs.mkdirSync(out, { recursive: true })
  const args = ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', out]
  const ended = spawnSync('npm', args, {
    cwd: stage,
    encoding: 'utf8',
    maxBuffer: 64 * 1_024 * 1_024,
    shell: process.platform === 'win32',
  })
  if (ended.status !== 0)
    throw new PackageError(`npm pack failed: ${ended.error?.message ?? ended.stderr.trim()}`)
  const [packed] = JSON.parse(ended.stdout)
  const inside = new Set(packed.files.map((file) => file.path))
  const missing = filesIn(stage).filter((file) => !inside.has(file))
  if (missing.length > 0)
    throw new PackageError(`npm left ${missing.length} files out, such as ${missing[0]}`)
  return packed
}

function main() {
  const { values } = parseArgs({
    options: {
      out: { type: 'string', default: root },
      platforms: { type: 'string' },
      unpacked: { type: 'boolean', default: false },
    },
  })
  const platforms = values.platforms?.split(',') ?? PLATFORMS
  const unknown = platforms.filter((platform) => !PLATFORMS.includes(platform))
  if (unknown.length > 0)
    throw new PackageError(`--platforms: ${unknown[0]}; expected some of ${PLATFORMS.join(',')}`)
  const out = path.resolve(values.out)
  const { packages: lock } = readJson(at('package-lock.json'))
  fs.mkdirSync(at('.records-sync'), { recursive: true })
  const stage = fs.mkdtempSync(at('.records-sync', 'package-'))
  try {
    const manifest = ownManifest(lock)
    stageOwn(manifest.files, stage)
    fs.writeFileSync(path.join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
    const isPlatform = (platform) => platforms.includes(platform)
    stagePackages(foldersOf(lock), stage, { isPlatform })
    if (values.unpacked) {
      const folder = path.join(out, 'package')
      fs.cpSync(stage, folder, { recursive: true })
      process.stdout.write(`${folder}\n`)
      return
    }
    const { filename, size, unpackedSize, files } = pack(stage, out)
    const mb = (bytes) => (bytes / 1e6).toFixed(1)
    process.stderr.write(
      `${files.length} files, ${mb(size)} MB, ${mb(unpackedSize)} MB unpacked, for ${platforms.join(', ')}\n`,
    )
    process.stdout.write(`${path.join(out, filename)}\n`)
  } finally {
    fs.rmSync(stage, { recursive: true, force: true })
  }
}

try {
  main()
} catch (error) {
  if (!(error instanceof PackageError)) throw error
  process.stderr.write(`package: ${error.message}\n`)
  process.exitCode = 1
}
