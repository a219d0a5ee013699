// Bundles what starts as a process or a thread of its own: a program in few files starts in half the time that it takes in hundreds. The command line
// and the threads go into dist/programs, which ships; what only the tests start goes into dist/bundled.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { build } from 'esbuild'
import { noticesOf } from './third-party.mjs'

/** The program in dist/programs, and what the compiler made of it, below dist. */
const COMMAND_LINE = { countersign: 'src/cli/main.js' }
const THREADS = {
  'writer-worker': 'src/store/sqlite/writer-worker.js',
  'reader-worker': 'src/compose/reader-worker.js',
  'upkeep-worker': 'src/compose/upkeep-worker.js',
  'index-ahead-worker': 'src/compose/index-ahead-worker.js',
  'verify-worker': 'src/compose/verify-worker.js',
}

/** CommonJS packages require node's own modules. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);"

/**
 * What ships: the command line, with a file for what each command alone needs, and each thread in one file, without what only another one needs.
 * Beside them the licenses of the packages that are in them. `external`: packages that stay outside, because they are native or loaded by few.
 */
export async function bundlePrograms({ dist, external }) {
  const outdir = join(dist, 'programs')
  rmSync(outdir, { recursive: true, force: true })
  const files = [
    ...(await bundle({ dist, external, outdir, entries: COMMAND_LINE })),
    ...(await bundle({ dist, external, outdir, entries: THREADS, splitting: false })),
  ]
  writeFileSync(join(outdir, 'THIRD-PARTY-LICENSES.txt'), noticesOf(files))
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

/** Gives the files that went into it. */
async function bundle({ dist, external, outdir, entries, splitting = true }) {
  const { metafile } = await build({
    absWorkingDir: dirname(dist),
    entryPoints: Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, join(dist, path)])),
    outdir,
    bundle: true,
    splitting,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    external,
    logLevel: 'warning',
    banner: { js: REQUIRE },
    metafile: true,
    plugins: [ownModules({ dist, outdir, entries })],
  })
  return Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  )
}

/** A module in a bundle still finds the files that lie beside, or from, its own place; what it does not use of zod, such as 50 languages, stays outside. */
function ownModules({ dist, outdir, entries }) {
  const names = new Map(Object.entries(entries).map(([name, path]) => [path, `./${name}.js`]))
  const addressOf = (file) => {
    const below = relative(dist, file).replaceAll(sep, '/')
    // An example that names itself starts itself.
    const own = below.startsWith('examples/') ? names.get(below) : undefined
    const address = own ?? relative(outdir, file).replaceAll(sep, '/')
    return `new URL('${address.startsWith('.') ? address : `./${address}`}', import.meta.url)`
  }
  const rewrite = (text, path) =>
    text
      .replace(/new URL\('([^']+\.js)', import\.meta\.url\)|import\.meta\.url/g, (_whole, target) =>
        target === undefined ? `${addressOf(path)}.href` : addressOf(resolve(dirname(path), target)),
      )
      .replace("import { z } from 'zod'", "import * as z from 'zod'")
  return {
    name: 'own modules',
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        if (path.includes('node_modules') || !path.startsWith(dist)) return undefined
        return { contents: rewrite(readFileSync(path, 'utf8'), path), loader: 'js' }
      })
    },
  }
}
