// The counted rung: what a schedule does, as numbers that need no machine: flops by class, bytes by
// axis, peak memory. (Declared with the program; see count.cpp.)
#pragma once
