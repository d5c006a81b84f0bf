/** Text files that are part of the program. */
declare module '*.sql' {
  const text: string;
  export default text;
}
declare module '*.md' {
  const text: string;
  export default text;
}
declare module '*.jsonc' {
  const text: string;
  export default text;
}
