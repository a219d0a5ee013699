// Bundles what starts as a process or a thread of its own, and what programs import: a program in few files starts in half the time that it takes in
// hundreds. The command line, the threads and the entries of the package go into dist/programs, which ships; what only the tests start goes into dist/bundled.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { build } from 'esbuild'
import { writeClientTypes } from './client-types.mjs'
import { noticesOf } from './third-party.mjs'

/** What ships, and what the compiler made of it, below dist: the command line, the entries of the package, what `serve` of a ledger in process loads, and the threads. */
const PROGRAMS = {
  countersign: 'src/cli/main.js',
  agent: 'src/agent/index.js',
  client: 'src/client/index.js',
  'compose-service': 'src/compose/compose-service.js',
  'writer-worker': 'src/store/sqlite/writer-worker.js',
  'reader-worker': 'src/compose/reader-worker.js',
  'indexing-worker': 'src/compose/indexing-worker.js',
  'index-ahead-worker': 'src/compose/index-ahead-worker.js',
  'verify-worker': 'src/compose/verify-worker.js',
}
/** The entries whose types ship beside them. */
const TYPED = { agent: 'src/agent/index', client: 'src/client/index' }

/** A file by its place, and a module's address. */
const ADDRESS = /new URL\('([^']+\.js)', import\.meta\.url\)|()import\.meta\.url/g
/** Places alone. */
const PLACE = /new URL\('([^']+\.js)', import\.meta\.url\)|(new URL\([^()]+, )import\.meta\.url/g

/** CommonJS packages require node's own modules. Bundled once more, into CommonJS, the file has no address. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = import.meta.url === undefined ? undefined : requireFrom(import.meta.url);\n"
/** What stands in the file that makes use of it. */
const REQUIRES = 'var __require ='

/**
 * Every module is in one file, which all that need it share. Beside them the licenses of the packages that are in them. `external`: packages that stay outside,
 * because they are native or loaded by few.
 */
export async function bundlePrograms({ dist, external }) {
  const outdir = join(dist, 'programs')
  rmSync(outdir, { recursive: true, force: true })
  const outputs = await bundle({ dist, external, outdir, entries: PROGRAMS, ships: true })
  mustNeedNothing(outputs, relative(dirname(dist), join(outdir, 'client.js')).replaceAll(sep, '/'))
  writeFileSync(join(outdir, 'THIRD-PARTY-LICENSES.txt'), noticesOf(filesIn(outputs)))
  await writeClientTypes({ dist, out: join(outdir, 'types'), entries: TYPED })
}

/** Whatever it loads must run in a browser, too. */
function mustNeedNothing(outputs, file) {
  const outside = outsideOf(outputs, file)
  if (outside.length > 0) throw new Error(`${file} must run in a browser, without ${outside.join(', ')}`)
}

/** What a program imports from outside of the package, itself or through its shared parts. */
export function outsideOf(outputs, file, seen = new Set()) {
  if (seen.has(file)) return []
  seen.add(file)
  return outputs[file].imports.flatMap(({ path, external }) => (external ? [path] : outsideOf(outputs, path, seen)))
}

function filesIn(outputs) {
  return Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  )
}

/** Every example and every `*-child.js` of the tests, with what they share. `test/support/program.ts` knows the folder, and how a program is named in it. */
export async function bundleTestPrograms({ dist, external }) {
  const outdir = join(dist, 'bundled')
  rmSync(outdir, { recursive: true, force: true })
  const nameOf = (path) => path.replace(/\.js$/, '').replaceAll('/', '-')
  const entries = Object.fromEntries(testPrograms(dist).map((path) => [nameOf(path), path]))
  await bundle({ dist, external, outdir, entries })
}

function testPrograms(dist) {
  const examples = readdirSync(join(dist, 'examples')).map((file) => `examples/${file}`)
  const children = readdirSync(join(dist, 'test'), { recursive: true }).map(
    (file) => `test/${file.replaceAll(sep, '/')}`,
  )
  return [...examples.filter((file) => file.endsWith('.js')), ...children.filter((file) => file.endsWith('-child.js'))]
}

/** Gives what esbuild says of each file. */
async function bundle({ dist, external, outdir, entries, ships = false }) {
  const { metafile } = await build({
    absWorkingDir: dirname(dist),
    entryPoints: Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, join(dist, path)])),
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    external,
    logLevel: 'warning',
    metafile: true,
    // The compiler's paths lead from the package's own name to its sources.
    tsconfigRaw: '{}',
    // The package says of its own files that nothing is lost without them where no name of theirs is needed.
    logOverride: { 'ignored-bare-import': 'silent' },
    plugins: [ownModules({ dist, external, outdir, entries, ships })],
  })
  for (const file of Object.keys(metafile.outputs)) withRequire(join(dirname(dist), file))
  return metafile.outputs
}

function withRequire(file) {
  const text = readFileSync(file, 'utf8')
  if (!text.includes(REQUIRES)) return
  const [, start = '', rest = ''] = /^(#!.*\n)?([\s\S]*)$/.exec(text)
  writeFileSync(file, start + REQUIRE + rest)
}

/**
 * A module in a bundle still finds the files that lie beside, or from, its own place; what it does not use of zod, such as 50 languages, stays outside.
 * `ships`: what a module takes for its own address is that of the file that it is in, wherever that is bundled once more.
 */
function ownModules({ dist, external, outdir, entries, ships }) {
  const names = new Map(Object.entries(entries).map(([name, path]) => [path, `./${name}.js`]))
  const addressOf = (file, isTarget) => {
    const below = relative(dist, file).replaceAll(sep, '/')
    // An example that names itself starts itself; of what ships, a name of an entry means its bundle.
    const own = (ships && isTarget) || below.startsWith('examples/') ? names.get(below) : undefined
    const address = own ?? relative(outdir, file).replaceAll(sep, '/')
    return `new URL('${address.startsWith('.') ? address : `./${address}`}', import.meta.url)`
  }
  const rewrite = (text, path) =>
    text
      .replace(ships ? PLACE : ADDRESS, (_whole, target, start = '') =>
        target === undefined
          ? `${start}${addressOf(path, false)}.href`
          : addressOf(resolve(dirname(path), target), true),
      )
      .replace("import { z } from 'zod'", "import * as z from 'zod'")
  return {
    name: 'own modules',
    setup({ onLoad, onResolve }) {
      // What a package in the bundle requires goes with it, also where it is optional for modules of ours, which load it themselves.
      onResolve({ filter: /^[^./]/ }, ({ path, importer }) =>
        external.includes(path) && importer.includes('node_modules')
          ? { path: createRequire(importer).resolve(path) }
          : undefined,
      )
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        if (path.includes('node_modules') || !path.startsWith(dist)) return undefined
        return { contents: rewrite(readFileSync(path, 'utf8'), path), loader: 'js' }
      })
    },
  }
}
