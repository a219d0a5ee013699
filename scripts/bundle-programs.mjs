// Bundles the programs that start as a process or a thread, and the entries that programs import: a program in few files starts in half the time of one in
// hundreds. The command line, the threads and the entries of the package go into dist/programs, which ships; programs that only the tests start go into
// dist/bundled.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { build } from 'esbuild'
import { writeClientTypes } from './client-types.mjs'
import { noticesOf } from './third-party.mjs'

/**
 * The shipped programs and their compiled files below dist: the command line, the entries of the package, the code that `serve` of an in-process ledger loads,
 * and the threads.
 */
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
/** The entries whose types ship with them. */
const TYPED = { agent: 'src/agent/index', client: 'src/client/index' }

/** Locations of files, and the address of the module itself. */
const ADDRESS = /new URL\('([^']+\.js)', import\.meta\.url\)|()import\.meta\.url/g
/** Locations of files only. */
const PLACE = /new URL\('([^']+\.js)', import\.meta\.url\)|(new URL\([^()]+, )import\.meta\.url/g

/** CommonJS packages require Node's own modules. If the file is bundled again, into CommonJS, it has no `import.meta.url`. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = import.meta.url === undefined ? undefined : requireFrom(import.meta.url);\n"
/** Text that occurs in a file if it uses `require`. */
const REQUIRES = 'var __require ='

/**
 * Each module is in one file, which all its users share. The licenses of the bundled packages are written next to them. `external`: packages that are not
 * bundled, because they are native or rarely loaded.
 */
export async function bundlePrograms({ dist, external }) {
  const outdir = join(dist, 'programs')
  rmSync(outdir, { recursive: true, force: true })
  const outputs = await bundle({ dist, external, outdir, entries: PROGRAMS, ships: true })
  mustNeedNothing(outputs, relative(dirname(dist), join(outdir, 'client.js')).replaceAll(sep, '/'))
  writeFileSync(join(outdir, 'THIRD-PARTY-LICENSES.txt'), noticesOf(filesIn(outputs)))
  await writeClientTypes({ dist, out: join(outdir, 'types'), entries: TYPED })
}

/** Fails if the file would load anything that does not run in a browser. */
function mustNeedNothing(outputs, file) {
  const outside = outsideOf(outputs, file)
  if (outside.length > 0) throw new Error(`${file} must run in a browser, without ${outside.join(', ')}`)
}

/** The imports of a program from outside the package, direct or through its shared chunks. */
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

/**
 * Bundles every example and every `*-child.js` of the tests, with shared chunks. `test/support/program.ts` knows the folder and the naming of programs in it.
 */
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

/** Returns esbuild's metadata of each output. */
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
    // The path mapping in the compiler's options leads from the package's own name to its sources.
    tsconfigRaw: '{}',
    // The package declares its own files as free of side effects, so bare imports of them are dropped without a warning.
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
 * Keeps the references of bundled modules to files relative to their original place, and lets unused parts of zod, such as 50 languages, be dropped. `ships`:
 * a module's own address becomes that of the file that contains it, even if that file is bundled again.
 */
function ownModules({ dist, external, outdir, entries, ships }) {
  const names = new Map(Object.entries(entries).map(([name, path]) => [path, `./${name}.js`]))
  const addressOf = (file, isTarget) => {
    const below = relative(dist, file).replaceAll(sep, '/')
    // An example that names itself starts itself; in shipped programs, the name of an entry means its bundle.
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
      // Packages required by a bundled package are bundled with it, even if they are external for the project's own modules.
      onResolve({ filter: /^[^./]/ }, ({ path, importer }) =>
        external.includes(path) && importer.includes('node_modules')
          ? { path: createRequire(importer).resolve(path) }
          : undefined,
      )
      // Packages that use zod's namespace object keep all its 50 languages in the bundle; English is the only one that the programs speak.
      onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
        contents: "export { default as en } from './en.js'\n",
      }))
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        if (path.includes('node_modules') || !path.startsWith(dist)) return undefined
        return { contents: rewrite(readFileSync(path, 'utf8'), path), loader: 'js' }
      })
    },
  }
}
