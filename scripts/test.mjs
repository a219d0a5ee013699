// Runs the compiled tests and ends with what took longest and "N passed, N failed, N skipped". `--long` runs `*.long.test.js` alone; words
// narrow to paths that contain them. Without words, what `test:stores` runs on each store anyway is left to it.
import { CONTENTION, KILL, runFiles, SERVERS, slowestLine, sumLine, testFiles } from './run-files.mjs'

const long = process.argv.includes('--long')
const words = process.argv.slice(2).filter((word) => word !== '--long')
const OF_STORES = [CONTENTION, KILL, ...SERVERS.map((server) => `store/${server}.`)]
const isOfStores = (file) => OF_STORES.some((beginning) => file.startsWith(beginning))
const files = testFiles({ long }).filter((file) =>
  words.length === 0 ? long || !isOfStores(file) : words.every((word) => file.includes(word)),
)
const sum = await runFiles(files, { long })
if (files.length === 0) {
  console.error('no test file matches')
  process.exitCode = 1
}
console.log(slowestLine(sum))
console.log(sumLine(sum))
if (sum.failed > 0) process.exitCode = 1
