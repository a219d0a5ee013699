/**
 * @module The program of the writer's thread as CommonJS text, `better-sqlite3` left outside. The build fills it in behind the compiler. A program
 * into which a bundler has put this package has no file of the thread beside it, and starts it from here.
 */
export const WRITER_SOURCE: string = ''
