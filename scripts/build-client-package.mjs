// Makes the package `countersign-client` in dist/client-package, or in the folder given as an argument, from the same sources: the HTTP client for any
// JavaScript engine, and the runtime on a ledger behind HTTP for Node. Fails if the package would contain a file of the server, or if the client would need
// any module of Node. Run after a build.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { minify } from 'terser'
import { outsideOf } from './bundle-programs.mjs'
import { writeClientTypes } from './client-types.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const OUT = resolve(process.argv[2] ?? join(ROOT, 'dist', 'client-package'))
const ENTRIES = { index: 'src/client/index', agent: 'src/agent/over-http' }
/** Folders whose code the package may contain. */
const ROOMS = /^(schemas|projections|src\/(client|agent|signing|resources|egress))\//
/** Packages that are loaded on first use; the rest of the package works without them. */
const OPTIONAL = ['undici', 'ipaddr.js', 'minisearch', 'gpt-tokenizer', '@opentelemetry/api']

const description = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

rmSync(OUT, { recursive: true, force: true })
mkdirSync(OUT, { recursive: true })
await writePrograms()
await minifyPrograms()
await writeClientTypes({ dist: join(ROOT, 'dist'), out: join(OUT, 'types'), entries: ENTRIES })
writeFileSync(join(OUT, 'package.json'), `${JSON.stringify(clientDescription(), null, 2)}\n`)
copyFileSync(join(ROOT, 'LICENSE'), join(OUT, 'LICENSE'))
copyFileSync(join(ROOT, 'docs', 'client.md'), join(OUT, 'README.md'))

async function writePrograms() {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: Object.fromEntries(Object.entries(ENTRIES).map(([name, path]) => [name, `${path}.ts`])),
    outdir: OUT,
    chunkNames: 'shared-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: ['node22', 'es2022'],
    minify: true,
    external: OPTIONAL,
    metafile: true,
    logLevel: 'warning',
  })
  const foreign = Object.keys(metafile.inputs).filter((file) => !ROOMS.test(file))
  if (foreign.length > 0) throw new Error(`countersign-client must not hold ${foreign.join(', ')}`)
  const outputs = metafile.outputs
  const inNode = outsideOf(outputs, relative(ROOT, join(OUT, 'index.js')).replaceAll(sep, '/'))
  if (inNode.length > 0) throw new Error(`the client must run in a browser, without ${inNode.join(', ')}`)
}

/** Minifies once more, after esbuild, which saves 3 kB of the package. */
async function minifyPrograms() {
  for (const name of readdirSync(OUT).filter((file) => file.endsWith('.js'))) {
    const { code } = await minify(readFileSync(join(OUT, name), 'utf8'), {
      module: true,
      ecma: 2022,
      compress: { passes: 3, unsafe_arrows: true },
    })
    writeFileSync(join(OUT, name), code)
  }
}

function clientDescription() {
  const { version, license, engines, peerDependencies, dependencies } = description
  const loaded = OPTIONAL.filter((name) => dependencies[name] !== undefined)
  const peers = { ...peerDependencies, ...Object.fromEntries(loaded.map((name) => [name, dependencies[name]])) }
  return {
    name: 'countersign-client',
    version,
    description: 'Client of a Countersign ledger over HTTP, and the agent runtime on it, without the server.',
    license,
    type: 'module',
    engines,
    sideEffects: false,
    exports: {
      '.': { types: './types/index.d.ts', default: './index.js' },
      './agent': { types: './types/agent.d.ts', default: './agent.js' },
      './package.json': './package.json',
    },
    peerDependencies: peers,
    peerDependenciesMeta: Object.fromEntries(Object.keys(peers).map((name) => [name, { optional: true }])),
  }
}
