// Bundles what the tests start as processes of their own into dist/bundled, side by side: a program in a few files starts in half the time
// that it takes in hundreds. For tests alone: what ships is what tsc has written, which some suites start as well.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { build } from 'esbuild'

/** Below `dist`, beside every example and every `*-child.js` of the tests. */
const PROGRAMS = [
  'src/cli/main.js',
  'src/store/sqlite/writer-worker.js',
  'src/compose/reader-worker.js',
  'src/compose/upkeep-worker.js',
  'src/compose/index-ahead-worker.js',
  'src/compose/verify-worker.js',
]

/** `test/support/program.ts` knows the folder, and how a program is named in it. */
const nameOf = (program) => program.replace(/\.js$/, '').replaceAll('/', '-')

/** CommonJS packages require node's own modules. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);"

/** `external`: packages that stay outside, because they are native or loaded by few. */
export async function bundlePrograms({ dist, external }) {
  const programs = programsBelow(dist)
  const outdir = join(dist, 'bundled')
  rmSync(outdir, { recursive: true, force: true })
  await build({
    entryPoints: Object.fromEntries(programs.map((program) => [nameOf(program), join(dist, program)])),
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external,
    logLevel: 'warning',
    banner: { js: REQUIRE },
    plugins: [placesOfModules({ dist, programs })],
  })
}

function programsBelow(dist) {
  const examples = readdirSync(join(dist, 'examples')).map((file) => `examples/${file}`)
  const children = readdirSync(join(dist, 'test'), { recursive: true }).map(
    (file) => `test/${file.replaceAll(sep, '/')}`,
  )
  return [
    ...PROGRAMS,
    ...examples.filter((file) => file.endsWith('.js')),
    ...children.filter((file) => file.endsWith('-child.js')),
  ]
}

/** A module in a bundle still finds the files beside its own place, but starts the bundled form of another program. */
function placesOfModules({ dist, programs }) {
  const below = (path) => relative(dist, path).replaceAll(sep, '/')
  // An example that names itself starts itself.
  const isProgram = (file, target) => programs.includes(file) && (target !== undefined || file.startsWith('examples/'))
  const rewrite = (text, path) =>
    text.replace(/new URL\('([^']+\.js)', import\.meta\.url\)|import\.meta\.url/g, (_whole, target) => {
      const file = target === undefined ? below(path) : below(resolve(dirname(path), target))
      const bundled = isProgram(file, target) ? `./${nameOf(file)}.js` : `../${file}`
      const url = `new URL('${bundled}', import.meta.url)`
      return target === undefined ? `${url}.href` : url
    })
  return {
    name: 'places of modules',
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        if (path.includes('node_modules') || !path.startsWith(dist)) return undefined
        const text = readFileSync(path, 'utf8')
        return text.includes('import.meta.url') ? { contents: rewrite(text, path), loader: 'js' } : undefined
      })
    },
  }
}
