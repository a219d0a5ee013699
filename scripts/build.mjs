// Compiles everything into dist; the compiler's build info in dist lets the next build compile only changed files. `--if-stale` does nothing if dist is newer
// than every source: `npx countersign` runs `prepare` before its first use, and must not rewrite the files of a running ledger.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { buildVerifier } from './build-verifier.mjs'
import { bundlePrograms, bundleTestPrograms } from './bundle-programs.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const DIST = join(ROOT, 'dist')
const DESCRIPTION = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const STAMP = join(DIST, '.built')
/** The compiler's build info of its last run: contents, options, versions and errors. */
const BUILD_INFO = join(DIST, '.tsbuildinfo')
const SOURCES = [
  'schemas',
  'projections',
  'scripts',
  'src',
  'test',
  'bench',
  'examples',
  'package.json',
  'tsconfig.json',
  'biome.json',
]
/** Each is built from `projections/server-NAME.ts` and runs on the event server. */
const SERVER_PROJECTIONS = ['run', 'run-list']
/** Packages that are native, or rarely loaded: they are left out of all bundles. */
const EXTERNAL = [...Object.keys(DESCRIPTION.dependencies), ...Object.keys(DESCRIPTION.peerDependencies)]
/** The command line, as shipped and as compiled. */
const COMMANDS = ['programs/countersign.js', 'src/cli/main.js']
/** Included in every evidence bundle. */
const VERIFIER = join('src', 'verify', 'bundle', 'verify.mjs')

if (!process.argv.includes('--if-stale') || isStale()) await build()

async function build() {
  const startedMs = Date.now()
  const expected = expectedOutputs()
  // The compiler trusts its build info without checking the files: if one is missing, everything is compiled again.
  const isComplete = existsSync(BUILD_INFO) && [...expected].every((file) => existsSync(join(DIST, file)))
  if (!isComplete) rmSync(DIST, { recursive: true, force: true })
  compile()
  for (const name of SERVER_PROJECTIONS) bundleProjection(name)
  embedWriter()
  for (const file of assets()) copyFileSync(join(ROOT, file), join(DIST, file))
  buildVerifier(join(DIST, VERIFIER))
  removeAllBut(expected)
  await bundlePrograms({ dist: DIST, external: EXTERNAL })
  await bundleTestPrograms({ dist: DIST, external: EXTERNAL })
  // The compiler and the bundler write plain files; the command that npm links must be executable.
  for (const file of COMMANDS) chmodSync(join(DIST, file), 0o755)
  writeFileSync(STAMP, '')
  // The stamp has the time of the start, so that a source that changed during the build is newer.
  utimesSync(STAMP, startedMs / 1000, startedMs / 1000)
}

function compile() {
  const tsc = join(ROOT, 'node_modules', '.bin', process.platform === 'win32' ? 'tsc.cmd' : 'tsc')
  const { status } = spawnSync(tsc, ['-p', ROOT, '--incremental', '--tsBuildInfoFile', BUILD_INFO], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exit(status ?? 1)
}

/** All files that a build leaves below dist, except its build info, derived from the current sources. */
function expectedOutputs() {
  const { include } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'))
  const compiled = include
    .flatMap((folder) => filesBelow(join(ROOT, folder)))
    .map((path) => relative(ROOT, path))
    .filter((file) => /(?<!\.d)\.tsx?$/.test(file))
    .flatMap((file) => ['.js', '.js.map', '.d.ts'].map((ending) => file.replace(/\.tsx?$/, ending)))
  const projections = SERVER_PROJECTIONS.map((name) => join('projections', 'server', `${name}.js`))
  return new Set([...compiled, ...projections, ...assets(), VERIFIER])
}

/** Removes outputs without a source: a deleted test would otherwise still run. */
function removeAllBut(expected) {
  for (const path of filesBelow(DIST)) {
    const file = relative(DIST, path)
    if (!expected.has(file) && path !== BUILD_INFO) rmSync(path)
  }
}

/**
 * One script for EventStoreDB's own engine: the folds in a function, then the definition. Each stream of the category `run` is a partition. `outputState()` is
 * not used: it would write the whole state as an additional event for each event. The engine is an interpreter that may not support syntax later than this
 * target.
 */
function bundleProjection(name) {
  buildSync({
    entryPoints: [join(ROOT, 'projections', `server-${name}.ts`)],
    outfile: join(DIST, 'projections', 'server', `${name}.js`),
    bundle: true,
    format: 'iife',
    globalName: 'countersign',
    target: 'es2020',
    logLevel: 'warning',
    footer: {
      js: "fromCategory('run').foreachStream().when({ $init: countersign.init, $any: countersign.evolve })",
    },
  })
}

/** Embeds the program of the writer's thread as text, for programs that bundle the package: replaces the compiled module, which is empty. */
function embedWriter() {
  const folder = join(DIST, 'src', 'store', 'sqlite')
  const { outputFiles } = buildSync({
    entryPoints: [join(folder, 'writer-worker.js')],
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node22',
    minifySyntax: true,
    minifyWhitespace: true,
    external: ['better-sqlite3'],
    write: false,
    logLevel: 'warning',
  })
  writeFileSync(
    join(folder, 'writer-source.js'),
    `export const WRITER_SOURCE = ${JSON.stringify(outputFiles[0].text)}\n`,
  )
}

/** Files that the pages need in addition to their scripts; they are copied unchanged. */
function assets() {
  const files = filesBelow(join(ROOT, 'src', 'dashboard', 'assets')).map((path) => relative(ROOT, path))
  return files.filter((file) => !file.endsWith('.ts'))
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function isStale() {
  if (!existsSync(STAMP)) return true
  const builtMs = statSync(STAMP).mtimeMs
  return SOURCES.some((name) => existsSync(join(ROOT, name)) && newestMs(join(ROOT, name)) > builtMs)
}

function newestMs(path) {
  const own = statSync(path)
  if (!own.isDirectory()) return own.mtimeMs
  return readdirSync(path).reduce((newest, name) => Math.max(newest, newestMs(join(path, name))), own.mtimeMs)
}
