/* SPDX-License-Identifier: MIT
 * poison.h - included last by every .c file but mem.c: memory comes from the gate only, unsafe text calls never,
 * and lists are sorted by ap_sort. */
#ifndef AP_POISON_H
#define AP_POISON_H

#pragma GCC poison malloc calloc realloc free strdup sprintf vsprintf strcpy strcat strtok gets system popen dlopen qsort

#endif
